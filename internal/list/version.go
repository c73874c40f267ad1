package list

import (
	"encoding/binary"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/zeebo/xxh3"

	"crest"
)

// version names a list by what is on it: a ULID of as_of and of 80 bits of the list's hash. Two builders on the same
// log give the same version, whenever they make it and whatever they made before; versions of one board and window sort
// by as_of.
func version(l *crest.List) (string, error) {
	said := *l
	said.Version, said.GeneratedAt, said.Stale, said.Since = "", 0, false, 0
	text := said.AppendJSONHead(make([]byte, 0, 512+128*len(l.Top)))
	for i, e := range l.Top {
		if i > 0 {
			text = append(text, ',')
		}
		e.PreviousRank = 0
		text = said.AppendJSONEntry(text, &e)
	}
	hash := xxh3.Hash128(append(text, "]}"...))
	var id ulid.ULID
	if l.AsOf < 0 {
		return "", crest.Errorf(crest.CodeOutOfRange, "as_of", "is %d, before the epoch", l.AsOf)
	}
	if err := id.SetTime(uint64(l.AsOf)); err != nil {
		return "", fmt.Errorf("version of as_of %d: %w", l.AsOf, err)
	}
	binary.BigEndian.PutUint16(id[6:], uint16(hash.Hi))
	binary.BigEndian.PutUint64(id[8:], hash.Lo)
	return id.String(), nil
}

package list

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/oklog/ulid/v2"

	"crest"
)

// formatVersion is the version of both files of a list: its blobs and its pointer. docs/formats/list.md draws them.
const formatVersion = 1

// maxBlob bounds what is read back, in bytes: several times the longest list with the longest titles.
const maxBlob = 16 << 20

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// encodeBlob returns the file of one version of a list. It is JSON, so that people can read it.
func encodeBlob(l *crest.List) []byte {
	fresh := *l
	fresh.Stale = false // staleness is a matter of when the list is read
	doc := fresh.AppendJSON(nil)
	return fmt.Appendf(nil, "{\"format\":%d,\"crc32c\":\"%08x\",\"list\":%s}\n", formatVersion, checksum(doc), doc)
}

// decodeBlob reads what encodeBlob wrote. It refuses a file with a damaged bit, and one that says what no list says.
func decodeBlob(data []byte) (*crest.List, error) {
	var blob struct {
		Format int             `json:"format"`
		CRC32C string          `json:"crc32c"`
		List   json.RawMessage `json:"list"`
	}
	if err := json.Unmarshal(data, &blob); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	if blob.Format != formatVersion {
		return nil, fmt.Errorf("list has format %d; this program reads format %d", blob.Format, formatVersion)
	}
	if sum := fmt.Sprintf("%08x", checksum(blob.List)); sum != blob.CRC32C {
		return nil, fmt.Errorf("list is damaged: its checksum is %s, not %q", sum, blob.CRC32C)
	}
	l := new(crest.List)
	if err := json.Unmarshal(blob.List, l); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return l, checkList(l)
}

// checkList reports what a list can't say, so that nothing that is served from disk breaks a promise.
func checkList(l *crest.List) error {
	if _, err := ulid.ParseStrict(l.Version); err != nil {
		return fmt.Errorf("version %q: %w", l.Version, err)
	}
	if l.Board == "" || l.Window == "" || l.K < len(l.Top) {
		return fmt.Errorf("list of board %q and window %q with k %d has %d entries", l.Board, l.Window, l.K, len(l.Top))
	}
	for i := range l.Top {
		e := &l.Top[i]
		if e.Rank != i+1 || e.Error > e.Count || i > 0 && !before(&l.Top[i-1], e) {
			return fmt.Errorf("entry %d of the list is not in order", i+1)
		}
	}
	return nil
}

// encodePointer returns the file that says which version is current.
func encodePointer(version string) []byte {
	return fmt.Appendf(nil, "{\"format\":%d,\"version\":%q}\n", formatVersion, version)
}

// decodePointer reads what encodePointer wrote.
func decodePointer(data []byte) (version string, err error) {
	var pointer struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &pointer); err != nil {
		return "", fmt.Errorf("read pointer: %w", err)
	}
	if pointer.Format != formatVersion {
		return "", fmt.Errorf("pointer has format %d; this program reads format %d", pointer.Format, formatVersion)
	}
	if _, err := ulid.ParseStrict(pointer.Version); err != nil {
		return "", fmt.Errorf("version %q: %w", pointer.Version, err)
	}
	return pointer.Version, nil
}

package sim

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
)

// naming turns an item's number into its id and back.
type naming interface {
	id(item int32) string
	item(id string) (int32, bool)
	spelling(item int32, variant int) string // one way to write the id
}

// codes are ids of 11 characters, as video ids are. Neighbouring numbers have nothing in common.
type codes struct{}

// The multiplier and its inverse modulo 2^64.
const (
	scramble   = 0x9e3779b97f4a7c15
	unscramble = 0xf1de83e19937733d
)

func (codes) id(item int32) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], (uint64(item)+1)*scramble)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (codes) item(id string) (int32, bool) {
	b, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(b) != 8 {
		return 0, false
	}
	n := binary.BigEndian.Uint64(b)*unscramble - 1
	return int32(n), n < 1<<31
}

func (c codes) spelling(item int32, _ int) string { return c.id(item) }

// tags are hashtags of which the normal form is known by how they are made.
type tags struct{}

func (tags) id(item int32) string { return forms(item)[0] + strconv.Itoa(int(item)) }

func (t tags) item(id string) (int32, bool) {
	word := strings.TrimRight(id, "0123456789")
	n, err := strconv.ParseInt(id[len(word):], 10, 32)
	if err != nil || t.id(int32(n)) != id {
		return 0, false
	}
	return int32(n), true
}

func (tags) spelling(item int32, variant int) string {
	f := forms(item)
	return f[variant%len(f)] + strconv.Itoa(int(item))
}

// forms returns how the word of a tag can be written, its normal form first.
func forms(item int32) []string {
	switch item % 8 {
	case 5:
		return []string{"strasse", "#Straße", "#STRASSE", "＃Strasse"}
	case 6:
		return []string{"café", "#Café", "#CAFE\u0301", "Cafe\u0301"}
	case 7:
		return []string{"🔥", "#🔥", "＃🔥"}
	}
	return []string{"word", "#word", "#Word", "WORD", "＃ｗｏｒｄ"}
}

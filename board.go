package crest

import "strings"

// Narrowing is one dimension value that a board is limited to.
type Narrowing struct {
	Dimension string
	Value     string
}

// Board is one ranking: the items of a type, optionally of those events alone that have certain dimension values.
type Board struct {
	Type   string
	Narrow []Narrowing // in the order of the configuration; empty for the whole type
}

// String returns the board's name, "article/category=sports/region=eu". It is unique: neither "/" nor "=" can occur
// in a type, a dimension or a value.
func (b Board) String() string {
	if len(b.Narrow) == 0 {
		return b.Type
	}
	var s strings.Builder
	s.WriteString(b.Type)
	for _, n := range b.Narrow {
		s.WriteByte('/')
		s.WriteString(n.Dimension)
		s.WriteByte('=')
		s.WriteString(n.Value)
	}
	return s.String()
}

// ParseBoard returns the board that has a name.
func ParseBoard(name string) Board {
	parts := strings.Split(name, "/")
	b := Board{Type: parts[0]}
	for _, part := range parts[1:] {
		dimension, value, _ := strings.Cut(part, "=")
		b.Narrow = append(b.Narrow, Narrowing{dimension, value})
	}
	return b
}

// CheckName reports why a type, dimension or dimension value can't be part of a board's name.
func CheckName(field, s string, limit int) *Error {
	if err := CheckText(field, s, limit); err != nil {
		return err
	}
	if i := strings.IndexAny(s, "/="); i >= 0 {
		return Errorf(CodeOutOfRange, field, "contains %q, which separates the parts of a board's name", s[i])
	}
	return nil
}

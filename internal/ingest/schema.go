package ingest

import (
	"slices"
	"strings"

	"crest"
	"crest/internal/config"
)

// schema is what a configuration says about events, in the form that checking them needs.
type schema struct {
	types          []itemType
	dimensions     []dimension
	dimensionNames []string
	idFields       []string // names that types give to the item, beside "item"
	partitions     int
}

// itemType is a type of items.
type itemType struct {
	name    string
	idField int  // index in schema.idFields, or noField
	hashtag bool // items are normalised as hashtags
}

// dimension is a dimension with its allowed values; nil allows any.
type dimension struct {
	name    string
	allowed map[string]struct{}
}

const noField = -1

func newSchema(cfg *config.Config) (*schema, error) {
	if len(cfg.Types) == 0 {
		return nil, crest.Errorf(crest.CodeMissingField, "types", "is empty; there is nothing to count")
	}
	if n := cfg.Counting.Partitions; n < 1 {
		return nil, crest.Errorf(crest.CodeOutOfRange, "counting.partitions", "is %d; it must be positive", n)
	}
	if n := len(cfg.Dimensions); n > crest.MaxDimensions {
		return nil, crest.Errorf(crest.CodeOutOfRange, "dimensions", "has %d entries; at most %d are allowed", n, crest.MaxDimensions)
	}
	s := &schema{partitions: cfg.Counting.Partitions}
	for _, t := range cfg.Types {
		it := itemType{name: t.Name, idField: noField}
		if t.IDField != "" && t.IDField != "id" && t.IDField != "item" {
			it.idField = slices.Index(s.idFields, t.IDField)
			if it.idField == noField {
				it.idField = len(s.idFields)
				s.idFields = append(s.idFields, t.IDField)
			}
		}
		switch t.Normalize {
		case "":
		case "hashtag":
			it.hashtag = true
		default:
			return nil, crest.Errorf(crest.CodeUnknownValue, "types."+t.Name+".normalize", "is %q; it can be \"hashtag\"", t.Normalize)
		}
		s.types = append(s.types, it)
	}
	for _, d := range cfg.Dimensions {
		dim := dimension{name: d.Name}
		if len(d.Values) > 0 {
			dim.allowed = make(map[string]struct{}, len(d.Values))
			for _, v := range d.Values {
				dim.allowed[v] = struct{}{}
			}
		}
		s.dimensions = append(s.dimensions, dim)
		s.dimensionNames = append(s.dimensionNames, d.Name)
	}
	return s, nil
}

// typeNamed returns the type of that name, or nil. A deployment has few.
func (s *schema) typeNamed(name string) *itemType {
	for i := range s.types {
		if s.types[i].name == name {
			return &s.types[i]
		}
	}
	return nil
}

func (s *schema) typeNames() string {
	names := make([]string, len(s.types))
	for i := range s.types {
		names[i] = s.types[i].name
	}
	return strings.Join(names, ", ")
}

// dimensionNamed returns the index of the dimension of that name, or noField.
func (s *schema) dimensionNamed(name string) int { return slices.Index(s.dimensionNames, name) }

// idFieldNamed returns the index of the item's name of a type, or noField.
func (s *schema) idFieldNamed(name string) int { return slices.Index(s.idFields, name) }

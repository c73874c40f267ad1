package rank

import (
	"slices"

	"crest/internal/rows"
)

// columns are the positions of the wanted columns in a parser's fields; -1 for those not wanted.
type columns struct {
	wanted                []rows.Column
	weight, time, arrived int
	where                 []filter
}

// filter is the alternatives that a column can have.
type filter struct {
	column int
	values []string
}

const itemColumn = 0

func wantedColumns(c *Config) columns {
	w := columns{wanted: []rows.Column{{Name: c.Item, Required: true}}, weight: -1, time: -1, arrived: -1}
	position := func(name string) int {
		w.wanted = append(w.wanted, rows.Column{Name: name, Required: true})
		return len(w.wanted) - 1
	}
	if c.Weight != "" {
		w.weight = position(c.Weight)
	}
	if c.At != nil || c.Every > 0 {
		w.time = position(c.Time)
		if c.Arrived != "" {
			w.arrived = position(c.Arrived)
		}
	}
	byName := map[string]int{}
	for _, condition := range c.Where {
		i, ok := byName[condition.Column]
		if !ok {
			i = len(w.where)
			byName[condition.Column] = i
			w.where = append(w.where, filter{column: position(condition.Column)})
		}
		w.where[i].values = append(w.where[i].values, condition.Value)
	}
	return w
}

func (f *filter) holds(p *rows.Parser) bool {
	value := p.Field(f.column)
	if value == nil {
		return false
	}
	return slices.Contains(f.values, string(value))
}

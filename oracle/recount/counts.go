package recount

import (
	"fmt"
	"path/filepath"
	"time"

	"crest"
)

// counted is what the manifest of Crest's exact counts says.
type counted struct {
	dir    string
	Cut    crest.Millis   `json:"cut"` // what was received before has been looked at
	Until  crest.Millis   `json:"until"`
	Hours  []countedHour  `json:"hours"`
	Totals []countedTotal `json:"totals"`
}

type countedHour struct {
	Start      crest.Millis `json:"start"`
	Cut        crest.Millis `json:"cut"`
	Checked    crest.Millis `json:"checked"`
	Weight     uint64       `json:"weight"`
	Duplicates uint64       `json:"duplicates"`
	Damaged    string       `json:"damaged"`
	Counts     *countedFile `json:"counts"`
	Late       *countedFile `json:"late"`
}

type countedTotal struct {
	Window     string       `json:"window"`
	Hours      int          `json:"hours"` // 0 for all time
	From       crest.Millis `json:"from"`
	Until      crest.Millis `json:"until"`
	Counts     *countedFile `json:"counts"`
	Candidates *countedFile `json:"candidates"`
}

type countedFile struct {
	Name string `json:"name"`
}

// readCounted returns nil when nothing has been counted yet.
func readCounted(dir string) (*counted, error) {
	c := &counted{dir: dir}
	err := readContent(filepath.Join(dir, "manifest.json"), "manifest", c)
	if missing(err) {
		return nil, nil //nolint:nilnil // nothing is what there is
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of the exact counts: %w", err)
	}
	return c, nil
}

func (c *counted) path(f *countedFile) string {
	if f == nil {
		return ""
	}
	return filepath.Join(c.dir, filepath.FromSlash(f.Name))
}

// hour returns the entry of an hour, nil when it has none.
func (c *counted) hour(start crest.Millis) *countedHour {
	if len(c.Hours) == 0 || start < c.Hours[0].Start {
		return nil
	}
	i := int((start - c.Hours[0].Start) / crest.Millis(time.Hour/time.Millisecond))
	if i >= len(c.Hours) || c.Hours[i].Start != start {
		return nil
	}
	return &c.Hours[i]
}

package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"crest"
	"crest/internal/config"
)

// choice is what readers can ask for.
type choice struct {
	types      []config.Type
	dimensions []config.Dimension
	windows    []crest.Window
	sizes      []int // empty means any k from 1 to maxK
	maxK       int
	defaultK   int
}

// query is what a reader asks for, all of it known to exist but for the board, which may have had no events.
type query struct {
	typ    *config.Type
	window *crest.Window
	board  string
	narrow []crest.Narrowing // of the board; none for the type's own
	k      int
}

// commonK is how long a list is for a reader who doesn't say.
const commonK = 10

func newChoice(cfg *config.Config) choice {
	c := choice{
		types: cfg.Types, dimensions: cfg.Dimensions, windows: cfg.Windows, sizes: cfg.Lists.Sizes, maxK: cfg.Lists.MaxK,
		defaultK: min(commonK, cfg.Lists.MaxK),
	}
	if len(c.sizes) > 0 && !slices.Contains(c.sizes, commonK) {
		c.defaultK = c.sizes[0]
	}
	return c
}

// parse reads the query of GET /v1/top. A parameter without a value is as good as none.
func (c *choice) parse(raw string) (query, error) {
	q := query{typ: &c.types[0], window: &c.windows[0], k: c.defaultK}
	var values crest.Dimensions
	var seen parameters
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, ok := unescape(name)
		value, valueOK := unescape(value)
		if !ok || !valueOK {
			return q, crest.Errorf(crest.CodeInvalidParameter, "", "%.80q is not a well-formed part of a query", pair)
		}
		p := c.parameter(name)
		switch {
		case pair == "":
			continue
		case p < 0:
			return q, withValid(crest.Errorf(crest.CodeInvalidParameter, "", "there is no parameter %.80q", name), c.parameterNames())
		case seen[p]:
			return q, crest.Errorf(crest.CodeInvalidParameter, name, "is there twice")
		}
		seen[p] = true
		if value == "" {
			continue
		}
		var err error
		switch p {
		case parameterType:
			err = c.setType(&q, value)
		case parameterWindow:
			err = c.setWindow(&q, value)
		case parameterK:
			err = c.setK(&q, value)
		default:
			values[p-parameterDimensions] = value //nolint:gosec // G602: a parameter beyond the first three is a dimension's
		}
		if err != nil {
			return q, err
		}
	}
	return q, c.setBoard(&q, &values)
}

// parseOnce reads a query of these parameters, each of which may be there once. It is for endpoints that are seldom asked.
func parseOnce(raw string, names []string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, crest.Errorf(crest.CodeInvalidParameter, "", "%.80q is not a well-formed query", raw)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(names, name):
			return nil, withValid(crest.Errorf(crest.CodeInvalidParameter, "", "there is no parameter %.80q", name), names)
		case len(values[name]) > 1:
			return nil, crest.Errorf(crest.CodeInvalidParameter, name, "is there twice")
		}
	}
	return values, nil
}

// unescape undoes the escaping of a name or value of a query; most have none.
func unescape(s string) (string, bool) {
	if !strings.ContainsAny(s, "%+") {
		return s, true
	}
	s, err := url.QueryUnescape(s)
	return s, err == nil
}

// The parameters by number; a dimension's is parameterDimensions plus its place in the configuration.
const (
	parameterType = iota
	parameterWindow
	parameterK
	parameterDimensions
)

// parameters says which parameters a query has had.
type parameters [parameterDimensions + crest.MaxDimensions]bool

func (c *choice) parameter(name string) int {
	switch name {
	case "type":
		return parameterType
	case "window":
		return parameterWindow
	case "k":
		return parameterK
	}
	for i := range c.dimensions {
		if c.dimensions[i].Name == name {
			return parameterDimensions + i
		}
	}
	return -1
}

func (c *choice) parameterNames() []string {
	names := []string{"type", "window", "k"}
	for _, d := range c.dimensions {
		names = append(names, d.Name)
	}
	return names
}

func (c *choice) setType(q *query, name string) error {
	for i := range c.types {
		if c.types[i].Name == name {
			q.typ = &c.types[i]
			return nil
		}
	}
	var valid []string
	for _, t := range c.types {
		valid = append(valid, t.Name)
	}
	return withValid(crest.Errorf(crest.CodeUnknownType, "type", "is %.80q; there are lists of %s", name, strings.Join(valid, ", ")), valid)
}

func (c *choice) setWindow(q *query, name string) error {
	for i := range c.windows {
		if c.windows[i].Name == name {
			q.window = &c.windows[i]
			return nil
		}
	}
	var valid []string
	for _, w := range c.windows {
		valid = append(valid, w.Name)
	}
	return withValid(crest.Errorf(crest.CodeUnknownWindow, "window", "is %.80q; the windows are %s", name, strings.Join(valid, ", ")), valid)
}

func (c *choice) setK(q *query, s string) error {
	k, err := strconv.Atoi(s)
	if len(c.sizes) == 0 {
		if err != nil || k < 1 || k > c.maxK {
			return crest.Errorf(crest.CodeInvalidK, "k", "is %.80q; it must be a number from 1 to %d", s, c.maxK)
		}
	} else if err != nil || !slices.Contains(c.sizes, k) {
		var valid []string
		for _, size := range c.sizes {
			valid = append(valid, strconv.Itoa(size))
		}
		return withValid(crest.Errorf(crest.CodeInvalidK, "k", "is %.80q; the sizes are %s", s, strings.Join(valid, ", ")), valid)
	}
	q.k = k
	return nil
}

// setBoard finds the board's name, which for most queries is the type's.
func (c *choice) setBoard(q *query, values *crest.Dimensions) error {
	q.board = q.typ.Name
	b := crest.Board{Type: q.typ.Name}
	for i := range c.dimensions {
		if values[i] == "" {
			continue
		}
		d := &c.dimensions[i]
		if err := crest.CheckName(d.Name, values[i], crest.MaxDimensionBytes); err != nil {
			return err
		}
		if len(d.Values) > 0 && !slices.Contains(d.Values, values[i]) {
			return withValid(crest.Errorf(crest.CodeUnknownBoard, d.Name, "is %.80q, which no event has", values[i]), d.Values)
		}
		b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: d.Name, Value: values[i]})
	}
	if len(b.Narrow) == 0 {
		return nil
	}
	if !hasBoards(q.typ, b.Narrow) {
		return withValid(crest.Errorf(crest.CodeUnknownBoard, "", "%s is not ranked by %s", q.typ.Name, dimensionNames(b.Narrow)), boardShapes(q.typ))
	}
	q.narrow = b.Narrow
	q.board = b.String()
	return nil
}

// Serves returns which boards a valid configuration lets readers ask for, by name. Those that it doesn't are left from
// another one: the type is gone or not ranked by these dimensions any more, or a value is no longer allowed.
func Serves(cfg *config.Config) func(board string) bool {
	c := newChoice(cfg)
	return c.serves
}

func (c *choice) serves(board string) bool {
	b, _, err := c.boardOf(board)
	return err == nil && b.String() == board
}

// boardOf finds a board by its name, in whichever order that has the dimensions. An empty name is the first type's.
func (c *choice) boardOf(name string) (crest.Board, *config.Type, error) {
	var q query
	if name == "" {
		name = c.types[0].Name
	}
	parts := strings.Split(name, "/")
	if err := c.setType(&q, parts[0]); err != nil {
		return crest.Board{}, nil, err
	}
	var values crest.Dimensions
	for _, part := range parts[1:] {
		dimension, value, ok := strings.Cut(part, "=")
		p := c.parameter(dimension)
		switch {
		case !ok || value == "" || p < parameterDimensions:
			return crest.Board{}, nil, withValid(crest.Errorf(crest.CodeUnknownBoard, "board", "is %.200q; %.80q names no dimension and value", name, part), boardShapes(q.typ))
		case values[p-parameterDimensions] != "":
			return crest.Board{}, nil, crest.Errorf(crest.CodeUnknownBoard, "board", "is %.200q, which has %s twice", name, dimension)
		}
		values[p-parameterDimensions] = value
	}
	if err := c.setBoard(&q, &values); err != nil {
		return crest.Board{}, nil, err
	}
	return crest.Board{Type: q.typ.Name, Narrow: q.narrow}, q.typ, nil
}

// hasBoards reports whether the type has boards of exactly these dimensions.
func hasBoards(t *config.Type, narrow []crest.Narrowing) bool {
	return slices.ContainsFunc(t.Boards, func(names []string) bool {
		return len(names) == len(narrow) && !slices.ContainsFunc(narrow, func(n crest.Narrowing) bool {
			return !slices.Contains(names, n.Dimension)
		})
	})
}

func dimensionNames(narrow []crest.Narrowing) string {
	var names []string
	for _, n := range narrow {
		names = append(names, n.Dimension)
	}
	return strings.Join(names, " and ")
}

// boardShapes describes the boards of a type: "article", "article/category=…".
func boardShapes(t *config.Type) []string {
	shapes := []string{t.Name}
	for _, names := range t.Boards {
		b := crest.Board{Type: t.Name}
		for _, n := range names {
			b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: n, Value: "…"})
		}
		shapes = append(shapes, b.String())
	}
	return shapes
}

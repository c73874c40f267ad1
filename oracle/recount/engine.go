package recount

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the engine
)

// Config says what is recounted.
type Config struct {
	Archive    string // the archive's directory
	Exact      string // the directory of the exact counts
	Types      []Type
	Dimensions []string
	Edge       int64  // milliseconds
	Candidates int    // kept per board and window
	Memory     string // of DuckDB, such as "4GiB"; its own default when empty
}

// Type is a type of items and the sets of dimensions that narrow its boards.
type Type struct {
	Name   string
	Narrow [][]string
}

// engine is DuckDB with one connection, so that its temporary tables stay.
type engine struct {
	db   *sql.DB
	conn *sql.Conn
	temp string
}

func openEngine(ctx context.Context, cfg *Config) (*engine, error) {
	temp, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return nil, err
	}
	e := &engine{temp: temp}
	if e.db, err = sql.Open("duckdb", ""); err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	if e.conn, err = e.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	settings := []string{"SET temp_directory = " + quote(temp), "SET preserve_insertion_order = false"}
	if cfg.Memory != "" {
		settings = append(settings, "SET memory_limit = "+quote(cfg.Memory))
	}
	for _, s := range settings {
		if err := e.run(ctx, s); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

func (e *engine) close() error {
	var err error
	if e.conn != nil {
		err = e.conn.Close()
	}
	return errors.Join(err, e.db.Close(), os.RemoveAll(e.temp))
}

func (e *engine) run(ctx context.Context, query string) error {
	if _, err := e.conn.ExecContext(ctx, query); err != nil {
		return fmt.Errorf("%w in\n%s", err, query)
	}
	return nil
}

// rows calls each with the values of every row of a query, as text.
func (e *engine) rows(ctx context.Context, query string, each func(values []string) error) error {
	rows, err := e.conn.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	fields := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range fields {
		into[i] = &fields[i]
	}
	values := make([]string, len(columns))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, f := range fields {
			values[i] = "nothing"
			if f.Valid {
				values[i] = f.String
			}
		}
		if err := each(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// number returns the one number that a query gives.
func (e *engine) number(ctx context.Context, query string) (int64, error) {
	var n sql.NullInt64
	if err := e.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("%w in\n%s", err, query)
	}
	return n.Int64, nil
}

// quote makes a string a literal of SQL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// name makes a string the name of a column.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

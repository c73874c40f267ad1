package grade

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"crest"
)

// maxFile bounds the bytes of one hour's grades that are read back.
const maxFile = 64 << 20

// hourDocument is what a file of grades holds.
type hourDocument struct {
	Hour   time.Time `json:"hour"` // start of the hour that was counted
	Grades []Grade   `json:"grades"`
}

// writeHour keeps the grades of an hour in place of those that there were.
func writeHour(dir string, hour crest.Millis, grades []Grade) error {
	document, err := json.Marshal(hourDocument{Hour: hour.Time(), Grades: grades})
	if err != nil {
		return fmt.Errorf("write grades: %w", err)
	}
	if err := writeFile(gradePath(dir, hour), seal(document)); err != nil {
		return fmt.Errorf("write grades: %w", err)
	}
	return nil
}

// readHour returns the grades of an hour. The error says fs.ErrNotExist when there are none.
func readHour(dir string, hour crest.Millis) ([]Grade, error) {
	f, err := os.Open(gradePath(dir, hour))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("has more than %d bytes", maxFile)
	}
	return decodeHour(data, hour)
}

func decodeHour(data []byte, hour crest.Millis) ([]Grade, error) {
	document, err := unseal(data)
	if err != nil {
		return nil, err
	}
	var d hourDocument
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if crest.MillisOf(d.Hour) != hour {
		return nil, fmt.Errorf("has the grades of %s, which belong elsewhere", d.Hour.Format(time.RFC3339))
	}
	for i := range d.Grades {
		if g := &d.Grades[i]; crest.MillisOf(g.AsOf) != hour.Add(time.Hour) {
			return nil, fmt.Errorf("has a grade as of %s", g.AsOf.Format(time.RFC3339))
		}
	}
	return d.Grades, nil
}

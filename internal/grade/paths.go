package grade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crest"
)

const (
	samplesName  = "samples"
	gradeSuffix  = ".json"
	sampleSuffix = ".lists"
	dateFormat   = "2006-01-02"
	hourFormat   = "15"
)

// dateDirectory and hourName name an hour as the archive does: "date=2026-11-30" and "hour=09".
func dateDirectory(hour crest.Millis) string { return "date=" + hour.Time().Format(dateFormat) }

func hourName(hour crest.Millis) string { return "hour=" + hour.Time().Format(hourFormat) }

// gradePath returns where the grades of an hour are.
func gradePath(dir string, hour crest.Millis) string {
	return filepath.Join(dir, dateDirectory(hour), hourName(hour)+gradeSuffix)
}

// sampleDirectory returns where the samples of a moment, an hour's end, are.
func sampleDirectory(dir string, asOf crest.Millis) string {
	return filepath.Join(dir, samplesName, dateDirectory(asOf), hourName(asOf))
}

// samplePath returns where the samples of a window are. A window's name has no character that a file's can't have.
func samplePath(dir string, asOf crest.Millis, window string) string {
	return filepath.Join(sampleDirectory(dir, asOf), window+sampleSuffix)
}

// parseHour reads the names of an hour's directory or file; other names are not ok.
func parseHour(date, name string) (hour crest.Millis, ok bool) {
	t, err := time.Parse("date="+dateFormat+"/hour="+hourFormat, date+"/"+name)
	if err != nil {
		return 0, false
	}
	return crest.MillisOf(t), true
}

// dates returns the directories of days below dir, ascending; none when dir is not there.
func dates(dir string) ([]string, error) {
	return names(dir, func(name string) bool {
		_, ok := parseHour(name, "hour=00")
		return ok
	})
}

// hours returns the hours that have a directory or file of that suffix in a day's directory, ascending.
func hours(dir, date, suffix string) ([]crest.Millis, error) {
	found, err := names(filepath.Join(dir, date), func(name string) bool { return strings.HasSuffix(name, suffix) })
	var hours []crest.Millis
	for _, name := range found {
		if hour, ok := parseHour(date, strings.TrimSuffix(name, suffix)); ok {
			hours = append(hours, hour)
		}
	}
	return hours, err
}

// names returns the names in a directory that are wanted, ascending; none when it is not there.
func names(dir string, wanted func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("look for grades: %w", err)
	}
	var found []string
	for _, e := range entries {
		if wanted(e.Name()) {
			found = append(found, e.Name())
		}
	}
	slices.Sort(found)
	return found, nil
}

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"crest/client"
	"crest/internal/explain"
)

// TestServedListsAgainstTheirEvents posts events of the last hours to a server, counts the closed ones exactly, and holds what is served
// against the archive, before and after.
func TestServedListsAgainstTheirEvents(t *testing.T) {
	const yaml = `
preset: shares
windows:
  - {name: 5m, length: 5m, bucket: 10s, refresh: 1s}
  - {name: 24h, length: 24h, bucket: 5m, refresh: 1s}
counting: {flush: 100ms}
`
	s := startServer(t, yaml)
	admin := operatorOf(t, s)
	to, err := client.New(s.address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var events []client.Event
	for i := range 3000 {
		events = append(events, client.Event{
			ID: fmt.Sprintf("e%d", i), Type: "article", Item: fmt.Sprintf("a%d", i*i%97), Time: now.Add(-time.Duration(i) * 5 * time.Second),
			Dimensions: map[string]string{"region": []string{"eu", "us"}[i%2]},
		})
	}
	if _, err := to.Send(t.Context(), append(events, events[:50]...)); err != nil {
		t.Fatal(err)
	}
	waitForTotal(t, s.address+"/v1/top?window=24h&k=100", 3000)
	flags := []string{"--config", s.config, "--data", s.data}
	check := func() {
		t.Helper()
		code, out, errText := call(t, "", append([]string{"compare", "--hours", "--server", s.address, "--admin", admin}, flags...)...)
		if code != exitOK || !strings.Contains(out, "holds") || strings.Contains(out, "WRONG") {
			t.Errorf("compare: %d %s\n%s", code, errText, out)
		}
	}
	check()
	code, out, errText := call(t, "", append([]string{"recount", "--force", "--json"}, flags...)...)
	var report struct {
		Hours []struct{ Weight uint64 }
	}
	if err := json.Unmarshal([]byte(out), &report); code != exitOK || err != nil || len(report.Hours) < 3 {
		t.Errorf("recount: %d %v %s\n%s", code, err, errText, out)
	}
	check()
	code, out, errText = call(t, "", "explain", "article", "a1", "--json", "--admin", admin)
	var e explain.Explanation
	if err := json.Unmarshal([]byte(out), &e); code != exitOK || err != nil || len(e.Windows) != 2 || e.Windows[1].Count == 0 {
		t.Errorf("explain: %d %v %s\n%s", code, err, errText, out)
	}
	code, out, errText = call(t, "", "rank", s.data, "--json", "-k", "100")
	var ranked document
	if err := json.Unmarshal([]byte(out), &ranked); code != exitOK || err != nil || ranked.Total != 3000 || !ranked.Exact {
		t.Errorf("rank: %d %v %s\n%.300s", code, err, errText, out)
	}
}

// operatorOf returns the operator's address of a server, which its log names.
func operatorOf(t *testing.T, s *testServer) string {
	t.Helper()
	address := regexp.MustCompile(`admin=(http://\S+)`)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := address.FindStringSubmatch(s.log.String()); found != nil {
			return found[1]
		}
	}
	t.Fatalf("no operator's address in %s", s.log.String())
	return ""
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"crest"
)

// serverInfo is what a server says about itself.
type serverInfo struct {
	Types []struct {
		Name string `json:"name"`
	} `json:"types"`
	Windows []struct {
		Name           string  `json:"name"`
		RefreshSeconds float64 `json:"refresh_seconds"`
	} `json:"windows"`
}

// maxAnswer bounds what is read of a server's answer.
const maxAnswer = 16 << 20

// describeServer asks a server what it counts.
func describeServer(ctx context.Context, base string) (serverInfo, error) {
	var info serverInfo
	_, err := get(ctx, strings.TrimRight(base, "/")+"/v1/lists", "", &info)
	if err != nil {
		return info, err
	}
	if len(info.Types) == 0 {
		return info, fmt.Errorf("the server at %s names no types; is it a Crest server?", base)
	}
	return info, nil
}

// get reads a JSON document, unless the server still has the version of that ETag.
func get(ctx context.Context, url, etag string, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, usagef("--url: %w; write http://host:port", err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is crest serve running there? Give its address with --url", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified {
		return response.Header, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, serverError(response.Status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("the answer of %s is not that of a Crest server: %w", url, err)
	}
	return response.Header, nil
}

// serverError turns an error's JSON into an error.
func serverError(status string, body []byte) error {
	var answer struct {
		Error *crest.Error `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error == nil {
		return fmt.Errorf("the server answered %s", status)
	}
	return fmt.Errorf("the server answered %s: %w", status, answer.Error)
}

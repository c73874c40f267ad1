package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"crest"
)

// server is a running server, and the flag that says where it is.
type server struct{ url, flag string }

// maxAnswer bounds what is read of a server's answer.
const maxAnswer = 16 << 20

// types asks a server which types it counts.
func (s server) types(ctx context.Context) ([]string, error) {
	var answer struct {
		Types []struct {
			Name string `json:"name"`
		} `json:"types"`
	}
	if _, err := s.get(ctx, "/v1/lists", "", &answer); err != nil {
		return nil, err
	}
	if len(answer.Types) == 0 {
		return nil, fmt.Errorf("the server at %s names no types; is it a Crest server?", s.url)
	}
	var names []string
	for _, t := range answer.Types {
		names = append(names, t.Name)
	}
	return names, nil
}

// How long a server may take to answer.
const (
	getTimeout  = 15 * time.Second
	postTimeout = 90 * time.Second // for what it does before it answers
)

// get reads a JSON document, unless the server still has the version of that ETag.
func (s server) get(ctx context.Context, path, etag string, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	return s.ask(ctx, http.MethodGet, path, etag, into)
}

// post has the server do something, and reads the JSON document that it answers with.
func (s server) post(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	_, err := s.ask(ctx, http.MethodPost, path, "", into)
	return err
}

func (s server) ask(ctx context.Context, method, path, etag string, into any) (http.Header, error) {
	base, err := url.Parse(s.url)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usagef("%s %s: write http://host:port", s.flag, s.url)
	}
	address := strings.TrimRight(s.url, "/") + path
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, usagef("%s: %w", s.flag, err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is crest serve running there? Give its address with %s", err, s.flag)
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
		return nil, fmt.Errorf("the answer of %s is not that of a Crest server: %w", address, err)
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

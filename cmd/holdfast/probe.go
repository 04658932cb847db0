package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newProbe() *cobra.Command {
	timeout := 3 * time.Second
	command := &cobra.Command{
		Use:   "probe URL",
		Short: "Ask a process whether it is well, for the health check of a container without a shell",
		Long: "Ask a process whether it is well, for the health check of a container without a shell.\n\n" +
			"URL is http://127.0.0.1:8080/readyz or /livez of the API, or /livez on the private port of either. Only\n" +
			"the status 200 is well. Neither the environment nor a proxy has any say in it. The exit code is 0 or 1.",
		Args: func(command *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("usage: %s", command.UseLine())
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), timeout)
			defer cancel()
			said, err := probe(ctx, args[0])
			if err == nil {
				_, err = fmt.Fprintln(command.OutOrStdout(), said)
			}
			return err
		},
	}
	command.Flags().DurationVar(&timeout, "timeout", timeout, "how long the answer may take")
	return command
}

// maxProbed bounds how much of an answer is read and shown, in bytes.
const maxProbed = 4 << 10

// probe gives what a URL answers with 200. Any other answer, a redirect too, is an
// error that shows it: a health check's output is all that is seen of it.
func probe(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", exitError{exitUsage, err}
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProbed))
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return "", errors.New(strings.TrimSpace(response.Status + " " + said))
	}
	return said, nil
}

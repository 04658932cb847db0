package objectstore

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Settings say where a bucket is, and how it may be used.
type Settings struct {
	Endpoint  string // "https://ACCOUNT.r2.cloudflarestorage.com": http or https
	Bucket    string
	Region    string // "auto" for R2; empty for that
	PathStyle bool   // whether the bucket is named in the path, or in the host's name
	AccessKey string
	SecretKey string

	MaxConcurrency int           // requests under way at once; 0 for 128
	MaxAttempts    int           // tries of one request, the first one counted; 0 for 6
	Timeout        time.Duration // of one try, the body included; 0 for 30 s

	// Transport carries the requests; nil for one of the bucket's own.
	Transport http.RoundTripper
}

// Options are what a bucket reports to. Each may be nil, for nobody.
type Options struct {
	Log     *slog.Logger
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
}

// Defaults of the settings.
const (
	defaultRegion      = "auto"
	defaultConcurrency = 128
	defaultAttempts    = 6
	defaultTimeout     = 30 * time.Second
)

// label is a bucket's name that can be part of a host's (RFC 1123, section 2.1).
// One with dots could, but no certificate would fit.
var label = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// complete fills in the defaults, and refuses what can't be used.
func (s Settings) complete() (Settings, error) {
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return s, fmt.Errorf("the object store's endpoint is not an http or https URL")
	case s.Bucket == "":
		return s, fmt.Errorf("the object store's bucket has no name")
	case !s.PathStyle && (!label.MatchString(s.Bucket) || net.ParseIP(u.Hostname()) != nil):
		return s, fmt.Errorf("the object store's host can't be named after the bucket: use the path style")
	case s.AccessKey == "" || s.SecretKey == "":
		return s, fmt.Errorf("the object store's keys are missing")
	case s.MaxConcurrency < 0 || s.MaxAttempts < 0 || s.Timeout < 0:
		return s, fmt.Errorf("the object store's bounds are negative")
	}
	if s.Region == "" {
		s.Region = defaultRegion
	}
	if s.MaxConcurrency == 0 {
		s.MaxConcurrency = defaultConcurrency
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = defaultAttempts
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	return s, nil
}

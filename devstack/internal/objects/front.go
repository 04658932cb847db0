package objects

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"syscall"
)

// gatewayHost stands where a host's name must: the gateway has a socket.
const gatewayHost = "gateway"

// newTransport returns the way to the gateway. It adds no header of its own,
// for a signature may cover any of them.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx)
		},
		DisableCompression:  true,
		MaxIdleConns:        maxConnections,
		MaxIdleConnsPerHost: maxConnections,
	}
}

// newProxy returns a handler that passes each request to the gateway as it
// came: the same host, path, query and headers, so that its signature holds.
func newProxy(transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = gatewayHost
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			// The client has gone, or the gateway has refused an upload without reading it.
			if !errors.Is(err, context.Canceled) && !errors.Is(err, syscall.EPIPE) {
				log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

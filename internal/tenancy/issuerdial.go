package tenancy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Fetching what a tenant's issuer names is hostile territory: whoever names it chooses
// where this process connects to, and what it reads.

const (
	fetchTimeout     = 5 * time.Second // for all of a fetch
	maxFetchedHeader = 16 << 10        // bytes
)

// FetchSettings say where issuers' keys may be fetched from. The zero value is for
// production: from public addresses, with certificates that the system trusts.
type FetchSettings struct {
	Allowed  func(netip.Addr) bool // nil for PublicAddress
	Roots    *x509.CertPool        // nil for the system's
	Resolver *net.Resolver         // nil for the system's
}

// errNotPublic is of a connection that was never made.
var errNotPublic = errors.New("the address is not a public one")

// newFetchClient makes a client that follows no redirect, uses no proxy, and connects
// to allowed addresses only. The address is judged when the socket is about to be
// connected, so that no answer of a name server comes in between; and each fetch is a
// new connection.
func newFetchClient(s FetchSettings) *http.Client {
	if s.Allowed == nil {
		s.Allowed = PublicAddress
	}
	dialer := &net.Dialer{
		Timeout: fetchTimeout, Resolver: s.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if !s.Allowed(to.Addr().Unmap()) {
				return errNotPublic
			}
			return nil
		},
	}
	return &http.Client{
		Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // whose status is not 200
		},
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.Roots},
			TLSHandshakeTimeout:    fetchTimeout,
			ResponseHeaderTimeout:  fetchTimeout,
			MaxResponseHeaderBytes: maxFetchedHeader,
			DisableKeepAlives:      true,
			DisableCompression:     true,
		},
	}
}

// notPublic are the special-purpose addresses (RFC 6890 and the registries of IANA)
// that netip doesn't know by name, with those through which an IPv4 address can be
// reached under an IPv6 one.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fec0::/10",
)

// allocated is what there is of global unicast in IPv6 (RFC 4291, section 2.4).
var allocated = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// PublicAddress tells an address on the public Internet: no loopback, private,
// link-local (where clouds keep their metadata), shared, multicast or reserved one.
func PublicAddress(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is6() && !allocated.Contains(a) || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return false
	}
	for _, prefix := range notPublic {
		if prefix.Contains(a) {
			return false
		}
	}
	return true
}

// statusError is of an answer that isn't 200.
func statusError(status int) error { return fmt.Errorf("it answers with status %d", status) }

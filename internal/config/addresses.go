package config

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

func (l *loader) apiAddress(text string, environment Environment) string {
	switch {
	case text != "":
		return l.address("HOLDFAST_API_ADDRESS", text)
	case environment == Development:
		return "127.0.0.1:8080"
	default:
		return ":8080"
	}
}

// metricsAddress: set to nothing means none.
func (l *loader) metricsAddress(text string) string {
	const variable = "HOLDFAST_METRICS_ADDRESS"
	switch {
	case text != "":
		return l.address(variable, text)
	case l.set[variable]:
		return ""
	case l.process == Worker:
		return "127.0.0.1:9091"
	default:
		return "127.0.0.1:9090"
	}
}

func (l *loader) address(name, text string) string {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		l.problem(name, "%q is not HOST:PORT", text)
	}
	return text
}

// proxies are networks. One that has bits beyond its length is a slip, and perhaps a
// larger one than was meant.
func (l *loader) proxies(text string) (networks []netip.Prefix) {
	for _, word := range strings.Fields(text) {
		network, err := netip.ParsePrefix(word)
		if err != nil || network != network.Masked() {
			l.problem("HOLDFAST_PROXIES", "%q is not a network as 10.0.0.0/16", word)
			continue
		}
		networks = append(networks, network)
	}
	return networks
}

// issuer is a URL as RFC 8414, section 2, wants it: https, no query and no
// fragment; and without a trailing slash, since clients compare the text. It has
// no default where the system chooses the port: the processes of an installation,
// and one process before and after its restart, must name the same issuer.
func (l *loader) issuer(text string, environment Environment, apiAddress string) string {
	const variable = "HOLDFAST_ISSUER"
	if text == "" && environment == Development {
		host, port, _ := net.SplitHostPort(apiAddress)
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n == 0 {
			l.problem(variable, "is required when HOLDFAST_API_ADDRESS has port 0: the URL that clients know the API by")
			return ""
		}
		if host == "" || host == "0.0.0.0" || host == "::" {
			host = "127.0.0.1"
		}
		return "http://" + net.JoinHostPort(host, port)
	}
	if text == "" {
		l.problem(variable, "is required outside of development: the https URL that clients know the API by")
		return ""
	}
	u := plainURL(text)
	if u == nil || strings.HasSuffix(text, "/") {
		l.problem(variable, "is not a URL without user, query, fragment and trailing slash")
		return ""
	}
	if u.Scheme != "https" && environment != Development {
		l.problem(variable, "must be https outside of development")
	}
	return text
}

// plainURL is an http or https URL that names a host, and neither user, query
// nor fragment; nil for anything else.
func plainURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return nil
	}
	return u
}

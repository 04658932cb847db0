package identity

import "fmt"

// Reserved is a set of handles that nobody may take. It holds their canonical
// keys and their skeletons, so that under the unicode policy a look-alike of a
// reserved name is refused too. The zero Reserved holds none.
type Reserved struct {
	keys map[string]struct{}
}

// NewReserved is the set of exactly these names, each a handle under the
// policy. It keeps none of the default ones.
func NewReserved(policy HandlePolicy, names []string) (Reserved, error) {
	r := Reserved{keys: make(map[string]struct{}, 2*len(names))}
	for i, name := range names {
		h, err := ParseHandle(policy, Reserved{}, name)
		if err != nil {
			return Reserved{}, fmt.Errorf("reserved name %d: %w", i+1, err)
		}
		r.add(h.key)
	}
	return r, nil
}

// DefaultReserved is the set for a tenant that has none of its own: names that
// speak for the tenant, that mail hosts and web servers give a meaning
// (RFC 2142, RFC 8615), or that programs confuse with no name at all. It
// serves both policies.
func DefaultReserved() Reserved {
	r := Reserved{keys: make(map[string]struct{}, 2*len(defaultReserved))}
	for _, key := range defaultReserved {
		r.add(key)
	}
	return r
}

func (r Reserved) add(key string) {
	r.keys[key] = struct{}{}
	r.keys[skeletonKey(key)] = struct{}{}
}

func (r Reserved) holds(h Handle) bool {
	_, key := r.keys[h.key]
	_, skeleton := r.keys[h.skeleton]
	return key || skeleton
}

// defaultReserved are canonical keys under both policies, except those that
// start with a dot, which only the unicode policy would take.
var defaultReserved = []string{
	// Who runs the place.
	"admin", "admins", "administrator", "administrators", "moderator", "moderators", "mod", "mods",
	"official", "operator", "owner", "root", "staff", "sudo", "superuser", "sysadmin", "sysop", "system", "team",

	// Who answers for it.
	"abuse", "billing", "compliance", "contact", "feedback", "help", "helpdesk", "info", "legal", "marketing",
	"news", "press", "privacy", "sales", "security", "support", "trust",

	// Mail and network roles.
	"dns", "ftp", "hostmaster", "imap", "list", "localhost", "mail", "mailer-daemon", "no-reply",
	"noc", "noreply", "nntp", "pop", "pop3", "postmaster", "smtp", "ssl-admin", "ssladmin", "sslwebmaster",
	"usenet", "uucp", "webmail", "webmaster", "www", "www-data",

	// Paths that a site or a browser gives a meaning.
	".", "..", ".well-known", "well-known", "about", "account", "accounts", "api", "assets", "auth", "blog",
	"cdn", "crossdomain.xml", "dashboard", "docs", "download", "downloads", "explore", "favicon.ico", "home",
	"humans.txt", "index.html", "login", "logout", "oauth", "openid", "password", "profile", "register",
	"robots.txt", "search", "security.txt", "settings", "signin", "signout", "signup", "sitemap.xml", "static",
	"status", "terms", "user", "users",

	// Nobody in particular, or everybody.
	"all", "anonymous", "anyone", "channel", "deleted", "everyone", "false", "guest", "here", "me", "nan", "nil",
	"nobody", "none", "null", "self", "someone", "true", "undefined", "unknown", "you",
}

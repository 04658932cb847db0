package journal

import "unicode/utf8"

// ActorType says in which role somebody acts.
type ActorType string

const (
	ActorCoordinator ActorType = "coordinator" // Holdfast itself
	ActorPrincipal   ActorType = "principal"   // a tenant's
	ActorOperator    ActorType = "operator"    // of the deployment
)

// HoldfastIssuer is the issuer of principals and operators that Holdfast keeps;
// their subject is their UUID.
const HoldfastIssuer = "holdfast"

// Actor is who did something: a principal or an operator by issuer and subject,
// which survive the rotation of its keys, or the coordinator, which has neither.
// The zero Actor is nobody.
type Actor struct {
	Type    ActorType `json:"type"`
	Issuer  string    `json:"issuer,omitempty"`
	Subject string    `json:"subject,omitempty"`
}

// Coordinator is a type, and so no name that a token could carry.
var Coordinator = Actor{Type: ActorCoordinator}

// IsCoordinator tells Holdfast itself.
func (a Actor) IsCoordinator() bool { return a == Coordinator }

// IsNobody tells the holder between a revocation and the grant behind it.
func (a Actor) IsNobody() bool { return a == Actor{} }

// String is for people: the issuer and the subject behind the type.
func (a Actor) String() string {
	switch a.Type {
	case "":
		return "nobody"
	case ActorCoordinator:
		return string(a.Type)
	default:
		return string(a.Type) + " " + a.Issuer + " " + a.Subject
	}
}

// wrong says what no actor may be like; "" when nothing is.
func (a Actor) wrong() string {
	switch {
	case a.Type == ActorCoordinator && !a.IsCoordinator():
		return "a coordinator has neither issuer nor subject"
	case a.Type == ActorCoordinator:
		return ""
	case a.Type != ActorPrincipal && a.Type != ActorOperator:
		return "an actor is the coordinator, a principal or an operator"
	case a.Issuer == "" || a.Subject == "":
		return "a principal or an operator has an issuer and a subject"
	case !utf8.ValidString(a.Issuer) || !utf8.ValidString(a.Subject):
		return "an actor's issuer and subject are valid UTF-8"
	default:
		return ""
	}
}

// appendJSON appends RFC 8785 JSON.
func (a Actor) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if a.Issuer != "" {
		dst = append(appendMember(dst, `"issuer":`, a.Issuer), ',')
	}
	if a.Subject != "" {
		dst = append(appendMember(dst, `"subject":`, a.Subject), ',')
	}
	return append(appendMember(dst, `"type":`, string(a.Type)), '}')
}

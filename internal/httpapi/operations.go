package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

const (
	securityScheme       = "oauth" // the one scheme of the document
	headerIdempotencyKey = "Idempotency-Key"
)

// route is how Echo names what it matched.
type route struct {
	method string
	path   string // "/v1/accounts/:account_id"
}

// operation is what the middleware needs to know of one operation.
type operation struct {
	id          string // "getAccount"
	method      string
	template    string        // "/v1/accounts/{account_id}"
	scope       string        // what a caller must have been granted; "" for a public operation
	oauthErrors bool          // refusals in the form of RFC 6749, section 5.2
	takesKey    bool          // it obeys an Idempotency-Key
	repeatable  bool          // the same request again finds what the first one did
	waits       bool          // it waits for others for long
	timeout     time.Duration // how long it may take; 0 for as long as any
	audited     bool          // an administrative act
	hourly      bool          // one that has entries once an hour, of each caller and tenant
	creates     bool          // it makes a thing

	query   map[string]*openapi3.Parameter
	headers []*openapi3.Parameter
	body    *bodyRule // nil when a body is refused
	matched *routers.Route
}

// bodyRule says which bodies an operation takes.
type bodyRule struct {
	required bool
	maxBytes int64
	media    map[string]*mediaRule // by media type, lower case, without parameters
}

// mediaRule says what a body of one media type must be.
type mediaRule struct {
	schema *openapi3.Schema // of the body, or of each line of a stream
	stream *lineLimits      // nil for a body that is judged whole
	part   string           // of a body in parts: the one that the schema is of; the others are bytes
}

// loadOperations reads the document. It fails when the document is invalid,
// when an operation doesn't say which scope it needs (an empty list of
// requirements says that it is public), or when a body's schema has an open
// object with named members.
func loadOperations(document []byte) (*openapi3.T, map[route]*operation, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, nil, fmt.Errorf("the API's description: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, nil, fmt.Errorf("the API's description: %w", err)
	}
	operations := make(map[route]*operation)
	var errs []error
	for template, item := range doc.Paths.Map() {
		for method, described := range item.Operations() {
			op, err := newOperation(doc, template, method, item, described)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", method, template, err))
				continue
			}
			operations[route{method, echoPath(template)}] = op
		}
	}
	return doc, operations, errors.Join(errs...)
}

func newOperation(doc *openapi3.T, template, method string, item *openapi3.PathItem, described *openapi3.Operation) (*operation, error) {
	scope, err := scopeOf(doc, described)
	if err != nil {
		return nil, err
	}
	extended := extensions(described.Extensions)
	if err := extended.demandKnown(extensionErrors, extensionTimeout, extensionRepeatable, extensionAudit, extensionHourly, extensionWaits); err != nil {
		return nil, err
	}
	timeout, err := extended.seconds(extensionTimeout)
	if err != nil {
		return nil, err
	}
	repeatable, err := extended.flag(extensionRepeatable)
	if err != nil {
		return nil, err
	}
	marked, err := extended.flag(extensionAudit)
	if err != nil {
		return nil, err
	}
	hourly, err := extended.flag(extensionHourly)
	if err != nil {
		return nil, err
	}
	waits, err := extended.flag(extensionWaits)
	if err != nil {
		return nil, err
	}
	op := &operation{
		id:          described.OperationID,
		method:      method,
		template:    template,
		scope:       scope,
		oauthErrors: extended[extensionErrors] == "rfc6749",
		repeatable:  repeatable,
		waits:       waits,
		timeout:     timeout,
		audited:     marked || method != http.MethodGet && strings.HasPrefix(scope, "operator:"),
		hourly:      hourly && method == http.MethodGet,
		creates:     described.Responses.Status(http.StatusCreated) != nil,
		query:       make(map[string]*openapi3.Parameter),
		matched:     &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: described},
	}
	for _, ref := range append(item.Parameters[:len(item.Parameters):len(item.Parameters)], described.Parameters...) {
		switch ref.Value.In {
		case openapi3.ParameterInQuery:
			op.query[ref.Value.Name] = ref.Value
		case openapi3.ParameterInHeader:
			op.headers = append(op.headers, ref.Value)
			op.takesKey = op.takesKey || ref.Value.Name == headerIdempotencyKey
		case openapi3.ParameterInPath: // the handler's: what isn't an id names nothing
		default:
			return nil, fmt.Errorf("parameter %s: only path, query and header are known", ref.Value.Name)
		}
	}
	if described.RequestBody != nil {
		op.body, err = newBodyRule(described.RequestBody.Value)
	}
	return op, err
}

// scopeOf gives the one scope that the operation names, or "" when it says that
// it is public.
func scopeOf(doc *openapi3.T, described *openapi3.Operation) (string, error) {
	if described.Security == nil {
		return "", errors.New("it doesn't say which scope it needs, nor that it is public")
	}
	requirements := *described.Security
	if len(requirements) == 0 {
		return "", nil
	}
	scopes := requirements[0][securityScheme]
	if len(requirements) != 1 || len(requirements[0]) != 1 || len(scopes) != 1 {
		return "", fmt.Errorf("it must name one scope of %q", securityScheme)
	}
	scheme := doc.Components.SecuritySchemes[securityScheme]
	if _, known := scheme.Value.Flows.ClientCredentials.Scopes[scopes[0]]; !known {
		return "", fmt.Errorf("the scope %q is not declared", scopes[0])
	}
	return scopes[0], nil
}

func newBodyRule(described *openapi3.RequestBody) (rule *bodyRule, err error) {
	rule = &bodyRule{required: described.Required, media: make(map[string]*mediaRule)}
	extended := extensions(described.Extensions)
	if err := extended.demandKnown(extensionMaxBytes); err != nil {
		return nil, err
	}
	if rule.maxBytes, err = extended.number(extensionMaxBytes, defaultMaxBytes); err != nil {
		return nil, err
	}
	for media, content := range described.Content {
		one, err := newMediaRule(media, content)
		if err != nil {
			return nil, fmt.Errorf("its body as %s: %w", media, err)
		}
		rule.media[strings.ToLower(media)] = one
	}
	return rule, nil
}

func newMediaRule(media string, content *openapi3.MediaType) (*mediaRule, error) {
	if content.Schema == nil {
		return nil, errors.New("it has no schema")
	}
	if media == mediaMultipart {
		return newPartsRule(content.Schema.Value)
	}
	if media != mediaForm {
		if err := demandClosed(content.Schema.Value); err != nil {
			return nil, err
		}
	}
	extended := extensions(content.Extensions)
	if err := extended.demandKnown(extensionMaxLines, extensionMaxLineBytes); err != nil {
		return nil, err
	}
	limits, err := newLineLimits(extended)
	if err != nil {
		return nil, err
	}
	if (media == mediaNDJSON) != (limits != nil) {
		return nil, errors.New("lines, and they alone, must be limited")
	}
	return &mediaRule{schema: content.Schema.Value, stream: limits}, nil
}

// newPartsRule is of a body in parts, of which one alone has a name in the document.
func newPartsRule(schema *openapi3.Schema) (*mediaRule, error) {
	if len(schema.Properties) != 1 {
		return nil, errors.New("one part must be named, the others being bytes")
	}
	rule := &mediaRule{}
	for name, part := range schema.Properties {
		rule.part, rule.schema = name, part.Value
	}
	return rule, demandClosed(rule.schema)
}

// demandClosed refuses a schema with an object that has named members and takes
// others beside them: a twin of a member's name in another letter case would
// pass validation there. A free-form object has no names and binds as bytes.
func demandClosed(schema *openapi3.Schema) error {
	if schema == nil {
		return nil
	}
	if len(schema.Properties) > 0 && (schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has) {
		return errors.New("an object with named members must say additionalProperties: false")
	}
	for name, member := range schema.Properties {
		if err := demandClosed(member.Value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, parts := range []openapi3.SchemaRefs{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, part := range parts {
			if err := demandClosed(part.Value); err != nil {
				return err
			}
		}
	}
	if schema.Items != nil {
		if err := demandClosed(schema.Items.Value); err != nil {
			return err
		}
	}
	if others := schema.AdditionalProperties.Schema; others != nil {
		return demandClosed(others.Value)
	}
	return nil
}

// echoPath is the template as Echo spells it.
func echoPath(template string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(template)
}

// safe tells an operation that changes nothing, so that its outcome is never in
// doubt.
func (o *operation) safe() bool { return o.method == http.MethodGet }

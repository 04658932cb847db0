package config

import "github.com/holdfast-dev/holdfast/internal/objectstore"

// bodies is the object store, or zero where none is named: collections of format 1
// need none. What AWS_… says is looked at only for that, since others read it too.
func (l *loader) bodies(v variables, environment Environment) Bodies {
	if v.BodiesEndpoint == "" && v.BodiesBucket == "" {
		return Bodies{}
	}
	b := Bodies{
		Endpoint:        l.bodiesEndpoint(v.BodiesEndpoint, environment),
		Bucket:          v.BodiesBucket,
		Region:          v.Region,
		PathStyle:       v.BodiesStyle == "path",
		AccessKeyID:     NewSecret(v.AccessKeyID),
		SecretAccessKey: NewSecret(v.SecretAccessKey),
	}
	if !b.PathStyle && v.BodiesStyle != "host" {
		l.problem("HOLDFAST_BODIES_STYLE", "%q is not one of path, host", v.BodiesStyle)
	}
	if b.Bucket == "" {
		l.problem("HOLDFAST_BODIES_BUCKET", "is required with HOLDFAST_BODIES_ENDPOINT")
	}
	if b.AccessKeyID.IsZero() {
		l.problem("AWS_ACCESS_KEY_ID", "is required with HOLDFAST_BODIES_ENDPOINT")
	}
	if b.SecretAccessKey.IsZero() {
		l.problem("AWS_SECRET_ACCESS_KEY", "is required with HOLDFAST_BODIES_ENDPOINT")
	}
	return b
}

func (l *loader) bodiesEndpoint(text string, environment Environment) string {
	const variable = "HOLDFAST_BODIES_ENDPOINT"
	if text == "" {
		l.problem(variable, "is required with HOLDFAST_BODIES_BUCKET: the object store's https URL")
		return ""
	}
	u := plainURL(text)
	switch {
	case u == nil:
		l.problem(variable, "is not a URL without user, query and fragment")
	case u.Scheme != "https" && environment != Development:
		l.problem(variable, "must be https outside of development")
	}
	return text
}

// Bodies are where bodies of format 2 are kept.
type Bodies struct {
	Endpoint        string // an http or https URL
	Bucket          string
	Region          string
	PathStyle       bool // whether the bucket is named in the path, or in the host's name
	AccessKeyID     Secret
	SecretAccessKey Secret
}

// ObjectStore is how the process reaches the bodies; false when it has none.
func (c Config) ObjectStore() (objectstore.Settings, bool) {
	b := c.Bodies
	if b.Endpoint == "" {
		return objectstore.Settings{}, false
	}
	return objectstore.Settings{
		Endpoint:  b.Endpoint,
		Bucket:    b.Bucket,
		Region:    b.Region,
		PathStyle: b.PathStyle,
		AccessKey: b.AccessKeyID.Reveal(),
		SecretKey: b.SecretAccessKey.Reveal(),
	}, true
}

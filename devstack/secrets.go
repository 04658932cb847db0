package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/devstack/internal/objects"
)

// secretsName is the file of a stack's secrets in its folder. Only its owner
// can read it.
const secretsName = "secrets.json"

// secrets is what a stack draws once and a kept stack finds again.
type secrets struct {
	ID        string `json:"id"`        // of the stack; no secret
	Databases int    `json:"databases"` // how many hold the data; no secret either

	SuperuserPassword string `json:"superuser_password"`
	OwnerPassword     string `json:"owner_password"`
	APIPassword       string `json:"api_password"`
	WorkerPassword    string `json:"worker_password"`

	ServerKey         string `json:"server_key"`
	OperatorKey       string `json:"operator_key"`
	SecondOperatorKey string `json:"second_operator_key"`

	AccessKey       string `json:"access_key"`
	SecretAccessKey string `json:"secret_access_key"`
}

// loadSecrets reads the secrets of the stack in folder, or draws them for a new
// one. databases is how many data databases are wanted, 0 for any number. It
// can't change for a stack that has them: data would be looked for elsewhere.
func loadSecrets(folder string, databases int) (secrets, error) {
	path := filepath.Join(folder, secretsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return storeSecrets(path, drawSecrets(databases))
	}
	if err != nil {
		return secrets{}, err
	}
	var s secrets
	if err := json.Unmarshal(text, &s); err != nil {
		return secrets{}, fmt.Errorf("%s: %w", path, err)
	}
	if databases != 0 && databases != s.Databases {
		return secrets{}, fmt.Errorf("the stack kept in %s has %d data databases, not %d: keep another elsewhere", folder, s.Databases, databases)
	}
	return s, nil
}

// storeSecrets writes s to path as a whole or not at all.
func storeSecrets(path string, s secrets) (secrets, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return secrets{}, err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return secrets{}, err
	}
	return s, os.Rename(path+".new", path)
}

func drawSecrets(databases int) secrets {
	if databases == 0 {
		databases = defaultDatabases
	}
	return secrets{
		ID:                randomHex(8),
		Databases:         databases,
		SuperuserPassword: randomHex(16),
		OwnerPassword:     randomHex(16),
		APIPassword:       randomHex(16),
		WorkerPassword:    randomHex(16),
		ServerKey:         "dev1:" + randomHex(32),
		OperatorKey:       drawKey(),
		SecondOperatorKey: drawKey(),
		AccessKey:         randomHex(10),
		SecretAccessKey:   randomHex(20),
	}
}

func (s secrets) objectKeys() objects.Keys {
	return objects.Keys{Access: s.AccessKey, Secret: s.SecretAccessKey}
}

// drawKey draws an API key, "hf_<id>_<secret>": a UUIDv7 as 32 hex digits, and
// 32 random bytes in base64url without padding.
func drawKey() string {
	id := uuid.Must(uuid.NewV7()) // fails only when randomness does
	return "hf_" + hex.EncodeToString(id[:]) + "_" + base64.RawURLEncoding.EncodeToString(random(32))
}

func randomHex(bytes int) string { return hex.EncodeToString(random(bytes)) }

func random(bytes int) []byte {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: it ends the program instead
	return b
}

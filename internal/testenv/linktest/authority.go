// Package linktest provides a certificate authority for tests.
package linktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates and writes them, with their keys, into a folder.
type Authority struct {
	Dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Wish describes a certificate to issue.
type Wish struct {
	File  string        // written to File.pem and File.key
	Name  string        // common name
	Hosts []string      // DNS names
	From  time.Duration // from now; the default is an hour ago
	For   time.Duration // its life; the default is a day
}

// NewAuthority returns an authority whose certificate is name.pem in dir.
func NewAuthority(dir, name string) (*Authority, error) {
	a := &Authority{Dir: dir, name: name}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "adnet test authority " + name},
		NotBefore: time.Now().Add(-30 * 24 * time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, a.write(name+".pem", "CERTIFICATE", der, 0o644)
}

// CA returns the file of the authority's certificate.
func (a *Authority) CA() string { return a.File(a.name + ".pem") }

// File returns a file of the authority's folder.
func (a *Authority) File(name string) string { return filepath.Join(a.Dir, name) }

// Issue issues a certificate for servers and clients, replacing an earlier one of that file.
func (a *Authority) Issue(w Wish) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	if w.From == 0 {
		w.From = -time.Hour
	}
	if w.For == 0 {
		w.For = 24 * time.Hour
	}
	begin := time.Now().Add(w.From)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: w.Name}, DNSNames: w.Hosts, NotBefore: begin,
		NotAfter:    begin.Add(w.For),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		a.write(w.File+".key", "PRIVATE KEY", private, 0o600), a.write(w.File+".pem", "CERTIFICATE", der, 0o644),
	)
}

func (a *Authority) write(name, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(a.File(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

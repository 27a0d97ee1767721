#!/bin/sh
# Makes the certificates of the tests anew, with OpenSSL 3. They are valid for a hundred years; tests give their own time.
set -eu
cd "$(dirname "$0")"
days=36500
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# key NAME ALGORITHM [OPTION…]: a private key
key() { name=$1; shift; openssl genpkey -out "$name.key.pem" -algorithm "$@" 2>/dev/null; }
# issue NAME ISSUER SUBJECT EXTENSIONS: a certificate for the key of NAME, signed by ISSUER (itself when equal)
issue() {
  printf '%b' "$4" >"$work/ext"
  openssl req -new -key "$1.key.pem" -subj "$3" -out "$work/csr"
  if [ "$1" = "$2" ]; then
    openssl x509 -req -in "$work/csr" -signkey "$1.key.pem" -days $days -extfile "$work/ext" -out "$1.pem" 2>/dev/null
  else
    openssl x509 -req -in "$work/csr" -CA "$2.pem" -CAkey "$2.key.pem" -days $days -extfile "$work/ext" -out "$1.pem" 2>/dev/null
  fi
}

ca='basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n'
leaf='basicConstraints=CA:FALSE\nsubjectAltName=DNS:shop.example,DNS:*.shop.example,IP:10.0.0.1\n'

key root EC -pkeyopt ec_paramgen_curve:P-256
issue root root '/O=Example/CN=Root' "$ca"
key intermediate EC -pkeyopt ec_paramgen_curve:P-256
issue intermediate root '/O=Example/CN=Intermediate' "$ca"
key p256 EC -pkeyopt ec_paramgen_curve:P-256
issue p256 intermediate '/O=Example/CN=shop.example' "$leaf"
key p384 EC -pkeyopt ec_paramgen_curve:P-384
issue p384 intermediate '/CN=shop.example' "$leaf"
key p521 EC -pkeyopt ec_paramgen_curve:P-521
issue p521 intermediate '/CN=shop.example' "$leaf"
key rsa2048 RSA -pkeyopt rsa_keygen_bits:2048
issue rsa2048 intermediate '/CN=shop.example' "$leaf"
key rsa1024 RSA -pkeyopt rsa_keygen_bits:1024
issue rsa1024 intermediate '/CN=shop.example' "$leaf"
key secp256k1 EC -pkeyopt ec_paramgen_curve:secp256k1
issue secp256k1 intermediate '/CN=shop.example' "$leaf"
key ed25519 ED25519
issue ed25519 intermediate '/CN=shop.example' "$leaf"
# Signed by a certificate that may not sign.
key not-ca EC -pkeyopt ec_paramgen_curve:P-256
issue not-ca p256 '/CN=below.shop.example' "$leaf"
openssl pkcs8 -topk8 -in p256.key.pem -out p256.encrypted.key.pem -passout pass:example
openssl ec -in p256.key.pem -out p256.sec1.key.pem 2>/dev/null
rm root.key.pem intermediate.key.pem not-ca.key.pem

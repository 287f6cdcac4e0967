import { existsSync } from 'node:fs';

import type { Environment } from './environment.ts';

/** Where systems keep the certificates that they trust, in one file. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/usr/local/etc/ssl/cert.pem',
];

/**
 * The certificate variables of a process that the app-server starts. It hands on its own, and those may name one
 * certificate that nothing is signed by: what it starts would reach no https server.
 */
export const machineTrust = (ours: Environment): Readonly<Record<string, string>> => {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: directory } = ours;
  return {
    // Most programs take an empty name for none.
    SSL_CERT_FILE: file ?? BUNDLES.find((bundle) => existsSync(bundle)) ?? '',
    ...(directory === undefined ? {} : { SSL_CERT_DIR: directory }),
  };
};

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/**
 * A certificate authority for one process, so that codex can be sent to this machine by `https`: as its own
 * provider it accepts nothing else. Encoded by hand because Node reads certificates but cannot create them.
 */
export interface TestCertificates {
  /** For `CODEX_CA_CERTIFICATE`. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  // The shortest encoding: strict readers accept no other.
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Buffer): Buffer => der(0x04, content);
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);
const yes = der(0x01, Buffer.from([0xff]));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const LOOPBACK = Buffer.from([127, 0, 0, 1]);

const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))));

const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), octets(value));

const FOR_AUTHORITY = [sequence(oid('551d13'), yes, octets(sequence(yes)))];
const FOR_SERVER = [
  extension('551d11', sequence(der(0x87, LOOPBACK))),
  extension('551d25', sequence(oid('2b06010505070301'))),
];

const VALIDITY = sequence(der(0x17, Buffer.from('250101000000Z')), der(0x17, Buffer.from('491231235959Z')));

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

const certificateOf = (subject: Subject, issuer: string, issuerKey: KeyObject): string => {
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    nameOf(issuer),
    VALIDITY,
    nameOf(subject.name),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...subject.extensions)),
  );
  const signed = sequence(body, ECDSA_SHA256, bits(sign('sha256', body, issuerKey)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
};

const newKeys = (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

export const makeCertificates = (): TestCertificates => {
  const [authority, server] = [newKeys(), newKeys()];
  const issuer = `test authority ${createHash('sha256').update(randomBytes(8)).digest('hex').slice(0, 8)}`;
  return {
    authority: certificateOf(
      { name: issuer, publicKey: authority.publicKey, extensions: FOR_AUTHORITY },
      issuer,
      authority.privateKey,
    ),
    certificate: certificateOf(
      { name: 'imitation', publicKey: server.publicKey, extensions: FOR_SERVER },
      issuer,
      authority.privateKey,
    ),
    key: String(server.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
};

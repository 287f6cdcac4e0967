import { failure, resourceFailureFor, type Failure } from '../../canonical/failure/failure.ts';

/** Reasons that an operator can act on, by error code. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'its host name does not exist',
  EAI_AGAIN: 'its host name could not be resolved',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'its network is unreachable',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_ABORTED: 'the connection was cut off, perhaps by a proxy',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not support TLS',
  EPROTO: 'it does not support TLS',
};

/** Node's codes for certificate errors. */
const CERTIFICATE = /CERT|UNABLE_TO_VERIFY|SIGNATURE|CRL/;

export const isCertificateError = (code: string): boolean => CERTIFICATE.test(code);

/** A connection failure that names the host and the reason but never the rest of the URL. */
export const unreachable = (host: string, code: string | null): Failure => {
  const ours = resourceFailureFor(code);
  if (ours !== null) return ours;
  if (host === '') return failure('upstream_unreachable');
  const why = code === null ? '' : `: ${whyUnreachable(code)}`;
  return failure('upstream_unreachable', { message: `The upstream at ${host} could not be reached${why}.` });
};

/** The reason in words, followed by the code. */
export const whyUnreachable = (code: string): string => `${reasonOf(code)} (${code})`;

const reasonOf = (code: string): string => {
  if (code.startsWith('HPE_')) return 'its answer is not HTTP';
  if (code.startsWith('WS_')) return 'it did not open a WebSocket';
  return (
    REASONS[code] ?? (isCertificateError(code) ? 'its certificate is not trusted' : 'the connection failed')
  );
};

/** The host of a URL; the rest may contain keys. */
export const hostOf = (url: string): string => URL.parse(url)?.host ?? '';

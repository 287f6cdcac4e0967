import type { Tone } from '../../components/badge.tsx';
import type { Filters, LoggedRequest, RequestError, RequestTokens } from './request-answers.ts';

interface ShownStatus {
  readonly tone: Tone;
  readonly text: string;
}

const CLIENT_GONE = 499;

/** The status of a request in a few words. A stream that failed has the status 200 and an error. */
export const statusOf = (request: LoggedRequest): ShownStatus => {
  const { state, status, error, outcome } = request;
  if (state === 'running') return { tone: 'info', text: 'Running' };
  if (status === CLIENT_GONE || outcome === 'abandoned') return { tone: 'warn', text: 'Left by the client' };
  if (error !== null) return { tone: 'bad', text: status === 200 ? '200, then failed' : String(status) };
  if (outcome === 'incomplete') return { tone: 'warn', text: `${status} incomplete` };
  return { tone: status !== null && status < 400 ? 'good' : 'bad', text: String(status) };
};

const WHO: Readonly<Record<RequestError['source'], string>> = {
  client: 'The request',
  key: 'The key',
  server: 'This server',
  account: 'The account',
  backend: 'The backend',
};

const LIMITS: Readonly<Partial<Record<RequestError['source'], string>>> = {
  key: 'A limit of the key',
  server: 'A limit of this server',
  account: 'The limit of the account',
  backend: 'A limit of the backend',
};

/** Whose matter an error is, such as `A limit of the backend (it answered 429)`. */
export const whoseError = ({ source, upstream_status: upstream }: RequestError, status: number | null) => {
  const who = (status === 429 ? LIMITS[source] : undefined) ?? WHO[source];
  return upstream === null ? who : `${who} (it answered ${upstream})`;
};

/** The share of the input that the backend had in its cache; null: there was no input. */
export const cachedShare = ({ input_tokens: input, cached_tokens: cached }: RequestTokens): number | null =>
  input === 0 ? null : cached / input;

/** `http`, or `http → websocket` if the backend was reached in another way. */
export const transportOf = ({ transport, upstream_transport: upstream }: LoggedRequest): string =>
  upstream === null || upstream === transport ? transport : `${transport} → ${upstream}`;

/** Whether a request of the live stream is one of those that the page shows. */
export const isShown = (request: LoggedRequest, filters: Filters, nowMs: number): boolean => {
  const { status, model, key, client, q, within } = filters;
  const isOf = (wanted: string, value: string | null | undefined): boolean =>
    wanted === '' || wanted === value;
  const ids = [request.id, request.request_id, request.response_id];
  return (
    hasStatus(request, status) &&
    isOf(model, request.model) &&
    isOf(key, request.key?.id) &&
    isOf(client, request.client) &&
    (q === '' || ids.some((id) => id?.startsWith(q) === true)) &&
    (within === '' || request.started_at * 1000 >= nowMs - Number(within) * 60_000)
  );
};

const hasStatus = ({ state, status, error }: LoggedRequest, wanted: string): boolean => {
  if (wanted === '') return true;
  if (wanted === 'running' || state === 'running') return wanted === state;
  if (wanted === 'ok') return error === null;
  if (wanted === 'failed') return error !== null;
  return wanted.endsWith('xx') ? String(status).startsWith(wanted.slice(0, 1)) : String(status) === wanted;
};

import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import type { ReportedError } from './classify.ts';

/** An upstream error in one of the usual formats. */
export type UpstreamError = Pick<
  ReportedError,
  'message' | 'type' | 'code' | 'param' | 'resetsAt' | 'resetsInSeconds'
>;

const NOTHING: UpstreamError = {
  message: null,
  type: null,
  code: null,
  param: null,
  resetsAt: null,
  resetsInSeconds: null,
};

/** Reads the body of an HTTP error. */
export const readErrorBody = (text: string): UpstreamError => {
  // Some servers wrap the error object in an array.
  const body = parseJsonObject(text) ?? parseJsonObject(/^\s*\[(.*)\]\s*$/s.exec(text)?.[1] ?? '');
  if (body === null) return { ...NOTHING, message: plainWords(text) };
  if (typeof body['error'] === 'string') return { ...readError(body), message: body['error'] };
  return readError(isJsonObject(body['error']) ? body['error'] : body);
};

/** Some servers answer with a plain sentence. HTML, a number or broken JSON is not useful to a client. */
const plainWords = (text: string): string | null => {
  const words = text.trim();
  return words === '' || words.length > MAX_SENTENCE_CHARS || NO_WORDS.test(words) ? null : words;
};

/** Longer text is not a message for people. */
const MAX_SENTENCE_CHARS = 1_000;
const NO_WORDS = /^(?:[{[<"\d-]|null$|true$|false$)/;

/** Reads the object that holds the message: `error` of a body or event, or the whole object. */
export const readError = (error: JsonObject): UpstreamError => {
  const within = [error['message'], error].find((one) => isJsonObject(one) && Object.hasOwn(one, 'detail'));
  const detail = isJsonObject(within) ? within['detail'] : null;
  const inner = isJsonObject(detail) ? detail : error;
  const listed = firstInvalid(detail);
  return {
    message: textOf(inner, 'message') ?? textOf(error, 'detail') ?? listed.message,
    type: nameOf(inner, 'type'),
    code: nameOf(inner, 'code') ?? listed.code,
    param: textOf(inner, 'param') ?? listed.param,
    resetsAt: numberOf(inner, 'resets_at'),
    resetsInSeconds: numberOf(inner, 'resets_in_seconds'),
  };
};

/** Pydantic servers list validation errors: `{"detail": [{"type", "loc": ["body", …], "msg"}]}`. */
const firstInvalid = (detail: unknown): Pick<UpstreamError, 'message' | 'code' | 'param'> => {
  const [first] = Array.isArray(detail) ? (detail as readonly unknown[]) : [];
  if (!isJsonObject(first)) return { message: null, code: null, param: null };
  const place = Array.isArray(first['loc']) ? (first['loc'] as readonly unknown[]) : [];
  const param = place.filter((step, index) => index > 0 || step !== 'body').join('.');
  return {
    message: textOf(first, 'msg'),
    code: nameOf(first, 'type'),
    param: param === '' ? null : param,
  };
};

const textOf = (object: JsonObject, key: string): string | null => {
  const value = object[key];
  return typeof value === 'string' ? value : null;
};

/** Names are shown to clients unchanged, so they must look like names. */
const nameOf = (object: JsonObject, key: string): string | null => {
  const value = textOf(object, key);
  return value !== null && /^[\w.:-]{1,100}$/.test(value) ? value : null;
};

const numberOf = (object: JsonObject, key: string): number | null => {
  const value = object[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
};

import type { JsonObject } from '../../kit/json/json.ts';
import type { RequestRecord } from '../../requests/record.ts';
import type { CapturedRequest, CaptureFiles } from '../exchange/trace-request.ts';

export interface CaptureDeps {
  readonly captured: CaptureFiles;
  /** The id of this server. */
  readonly instance: string;
}

/** A capture, or why there is none. */
export type FoundCapture =
  | { readonly capture: CapturedRequest; readonly why: null }
  | { readonly capture: null; readonly why: string };

const OFF =
  'This request was not captured. An administrator can have the next requests captured (POST /v1/codex/captures), and PROXY_CAPTURE_DIR captures all: then their bodies can be shown and replayed.';
const MISSED =
  'This request was not captured: it ran no turn, or too many requests were captured at the same time.';
const GONE =
  'The capture of this request does not exist any more: only the newest 1,000 and at most 1 GB are kept.';

export const findCapture = async (
  { capture: name, instance }: RequestRecord,
  { captured, instance: own }: CaptureDeps,
): Promise<FoundCapture> => {
  const missing = (why: string): FoundCapture => ({ capture: null, why });
  if (name === null) return missing(captured.isAlways ? MISSED : OFF);
  const capture = await captured.read(name);
  if (capture !== null) return { capture, why: null };
  if (instance === own) return missing(GONE);
  return missing(
    `The capture is not in the folder of this server: ${instance} answered the request, before a restart or on another machine.`,
  );
};

/** Of each body that is shown. */
const MAX_SHOWN_CHARS = 256 * 1024;

const shown = (body: JsonObject | null) => {
  if (body === null) return null;
  const text = JSON.stringify(body);
  return {
    chars: text.length,
    truncated: text.length > MAX_SHOWN_CHARS,
    text: text.slice(0, MAX_SHOWN_CHARS).toWellFormed(),
  };
};

export const projectCapture = ({ capture, why }: FoundCapture) =>
  capture === null
    ? { status: 'missing' as const, message: why }
    : {
        status: 'captured' as const,
        method: capture.method,
        path: capture.path,
        headers: capture.headers,
        client_body: shown(capture.body),
        model_requests: capture.modelRequests.map(shown),
        partial: capture.isPartial,
      };

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { ModelNames } from '../../canonical/models/model-names.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';

/** What parsing needs besides the body. */
export interface ChatTurnOptions {
  readonly models: ModelNames;
  readonly ignoreClientPrompt: boolean;
}

export const bodyObject = (body: unknown): JsonObject => {
  if (isJsonObject(body)) return body;
  throw gatewayError('invalid_type', { message: 'Invalid body: expected a JSON object.' });
};

interface StreamOptions {
  readonly stream?: boolean | null | undefined;
  readonly stream_options?: unknown;
}

export const rejectStreamOptions = (parsed: StreamOptions): void => {
  if (parsed.stream === true || (parsed.stream_options ?? null) === null) return;
  throw gatewayError('invalid_value', {
    param: 'stream_options',
    message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
  });
};

export const stopsOf = (stop: string | readonly string[] | null | undefined): readonly string[] =>
  typeof stop === 'string' ? [stop] : (stop ?? []);

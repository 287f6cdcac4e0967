import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { detectClient, type DetectedClient } from './clients/detect-client.ts';
import { parameterName, type ParameterNames } from './parameter-names.ts';
import type { ParsedRequest, WithReferences } from '../turns/api.ts';

/** The fields that every API has in some form. */
interface BasicFields {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly n?: number | null | undefined;
}

/** A body after translation to a turn request. */
export interface ReadBody<Parsed extends BasicFields = BasicFields> extends WithReferences {
  readonly parsed: Parsed;
  readonly request: TurnRequest;
  readonly names: ParameterNames;
  /** Fields without effect, by their location in the body. */
  readonly ignored: readonly string[];
}

/** Configured limits of every answer. */
export interface AnswerLimits {
  /** Whether an answer may have several calls. */
  readonly parallelCalls: boolean;
}

interface CommonFields extends Pick<
  ParsedRequest,
  'request' | 'choices' | 'model' | 'stream' | 'ignored' | 'nameOf'
> {
  readonly client: DetectedClient;
}

/** The fields of a parsed request that all APIs share. */
export const commonFields = (
  { parsed, request, ignored, names }: ReadBody,
  headers: Headers,
  { parallelCalls }: AnswerLimits = { parallelCalls: true },
): CommonFields => {
  const isOneByOne = !parallelCalls && request.tools.length > 0;
  const isOverruled = isOneByOne && request.parallelToolCalls === true;
  return {
    request: isOneByOne ? { ...request, parallelToolCalls: false } : request,
    choices: parsed.n ?? 1,
    model: parsed.model,
    stream: parsed.stream ?? false,
    client: detectClient(headers, request),
    ignored: isOverruled ? [...ignored, names.settings.parallelToolCalls] : ignored,
    nameOf: (path) => parameterName(path, names),
  };
};

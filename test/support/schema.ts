import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { choose, prepareSchemas } from './schema-prepare.ts';
import type { Schema, Schemas } from './schema-prepare.ts';
import { skipCheck } from './skip-check.ts';

/** Validators built from the published API documents, which are next to the project, not in it. */

export interface SchemaSet {
  /** Readable errors; empty if valid. */
  validate(name: string, value: unknown): string[];
}

/**
 * Where OpenAI's document is stricter than OpenAI's own answers. All exceptions of these validators are in
 * this list.
 */
interface Leniency {
  readonly schema: string;
  readonly why: string;
  readonly relax: (schema: Schema) => Schema;
}
const NESTED_ERROR = {
  type: 'object',
  required: ['type', 'sequence_number', 'error'],
  properties: {
    type: { const: 'error' },
    sequence_number: { type: 'integer' },
    error: {
      type: 'object',
      required: ['type', 'code', 'message', 'param'],
      properties: {
        type: { type: 'string' },
        code: { type: ['string', 'null'] },
        message: { type: 'string' },
        param: { type: ['string', 'null'] },
      },
    },
  },
};

const LENIENCIES: readonly Leniency[] = [
  {
    schema: 'ResponseUsage',
    why: 'a response object that is not finished carries `usage: null`',
    relax: (schema) => ({ ...schema, type: ['object', 'null'] }),
  },
  {
    schema: 'ResponseErrorCode',
    why: 'the list of codes is not complete: context_length_exceeded, for one, is sent and not in it',
    relax: () => ({ type: 'string' }),
  },
  {
    schema: 'ResponseErrorEvent',
    why: 'on the wire the four fields stand inside `error`, which is the only form that some clients read',
    relax: (schema) => ({
      properties: { type: { const: 'error' } },
      ...choose({ required: ['error'] }, NESTED_ERROR, schema),
    }),
  },
];

const sharedApi = join(process.env['SHARED_DIR'] ?? join(import.meta.dirname, '../../../shared'), 'api');

const complaint = (error: ErrorObject): string => {
  const at = error.instancePath === '' ? '(root)' : error.instancePath;
  const allowed: unknown = error.params['allowedValues'] ?? error.params['allowedValue'];
  return `${at} ${error.message ?? error.keyword}${allowed === undefined ? '' : `: ${JSON.stringify(allowed)}`}`;
};

/** `if` only reports that its branch failed; the branch says why. */
const isNews = (error: ErrorObject): boolean => error.keyword !== 'if';

const openDocument = (fileName: string, leniencies: readonly Leniency[]): SchemaSet | null => {
  const path = join(sharedApi, fileName);
  if (!existsSync(path)) {
    // A plain clone has no such folder next to it. One that is there, or that CI names, must have them.
    const isNamed = process.env['CI'] === 'true' && process.env['SHARED_DIR'] !== undefined;
    if (existsSync(sharedApi) || isNamed) throw new Error(`the API document is missing: ${path}`);
    return null;
  }
  const compiled = new Map<string, ValidateFunction>();
  let ajv: Ajv2020 | null = null;
  const load = (): Ajv2020 => {
    const document: { components: { schemas: Schemas } } = JSON.parse(readFileSync(path, 'utf8'));
    const schemas: Record<string, Schema> = withEventUnion(document.components.schemas);
    for (const { schema, relax } of leniencies) {
      const strict = schemas[schema];
      if (strict === undefined) throw new Error(`${fileName} has no ${schema} to be lenient about`);
      schemas[schema] = relax(strict);
    }
    const fresh = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
    formats.default(fresh);
    fresh.addFormat('unixtime', { type: 'number', validate: (value) => value >= 0 });
    fresh.addSchema({ $id: 'api', components: { schemas: prepareSchemas(schemas) } });
    return fresh;
  };
  return {
    validate(name, value) {
      let check = compiled.get(name);
      if (check === undefined) {
        ajv ??= load();
        check = ajv.compile({ $ref: `api#/components/schemas/${name}` });
        compiled.set(name, check);
      }
      return check(value) ? [] : (check.errors ?? []).filter(isNews).map(complaint);
    },
  };
};

/** Open Responses lists its events only under the path: they get the name that OpenAI's have. */
const withEventUnion = (schemas: Schemas): Record<string, Schema> => {
  const names = Object.keys(schemas).filter((name) => name.endsWith('StreamingEvent'));
  const union = { oneOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  return { ResponseStreamEvent: union, ...schemas };
};

/** The reason why tests are skipped where the documents are not there. */
export const NO_DOCUMENTS = `validation against OpenAI's API documents, which are not part of this project: set SHARED_DIR to a folder with api/openai-openapi.json and api/openresponses-openapi.json`;

/** Null where the documents are not there. */
export const openaiSchema: SchemaSet | null = openDocument('openai-openapi.json', LENIENCIES);
export const openResponsesSchema: SchemaSet | null = openDocument('openresponses-openapi.json', []);

const against = (set: SchemaSet | null, name: string, value: unknown): string[] => {
  if (set !== null) return set.validate(name, value);
  skipCheck(NO_DOCUMENTS);
  return [];
};

export const validateResponse = (body: unknown): string[] => against(openaiSchema, 'Response', body);
export const validateStreamEvent = (event: unknown): string[] =>
  against(openaiSchema, 'ResponseStreamEvent', event);
export const validateOpenai = (name: string, value: unknown): string[] => against(openaiSchema, name, value);
export const validateChatCompletion = (body: unknown): string[] =>
  against(openaiSchema, 'CreateChatCompletionResponse', body);
export const validateChatChunk = (chunk: unknown): string[] =>
  against(openaiSchema, 'CreateChatCompletionStreamResponse', chunk);
export const validateOpenResponse = (body: unknown): string[] =>
  against(openResponsesSchema, 'ResponseResource', body);
export const validateOpenResponseEvent = (event: unknown): string[] =>
  against(openResponsesSchema, 'ResponseStreamEvent', event);

/** Fails with the errors and the value. */
export const expectMatchesSchema = (name: string, value: unknown): void => {
  expect({ complaints: against(openaiSchema, name, value), value }).toEqual({ complaints: [], value });
};

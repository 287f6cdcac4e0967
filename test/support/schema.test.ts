import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  NO_DOCUMENTS,
  expectMatchesSchema,
  openResponsesSchema,
  openaiSchema,
  validateChatChunk,
  validateChatCompletion,
  validateOpenResponse,
  validateOpenResponseEvent,
  validateResponse,
  validateStreamEvent,
} from './schema.ts';

const NEEDS_DOCUMENTS = { meta: { needs: NO_DOCUMENTS } };

const message = (content: readonly unknown[] = []) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content,
});
const text = { type: 'output_text', text: 'hi', annotations: [], logprobs: [] };

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  completed_at: 2,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: 'gpt-x',
  output: [message([text])],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  top_logprobs: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  truncation: 'disabled',
  max_output_tokens: null,
  max_tool_calls: null,
  safety_identifier: null,
  prompt_cache_key: null,
  usage: {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  },
};

const delta = {
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: 'h',
  logprobs: [],
  sequence_number: 4,
};

const completion = {
  id: 'chatcmpl_1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-x',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      message: { role: 'assistant', content: 'hi', refusal: null, annotations: [] },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

const chunk = {
  id: 'chatcmpl_1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-x',
  choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
  usage: null,
};

describe.skipIf(openaiSchema === null)("OpenAI's document", NEEDS_DOCUMENTS, () => {
  it('accepts what OpenAI sends', () => {
    expect({
      response: validateResponse(response),
      unfinished: validateResponse({ ...response, usage: null, completed_at: null, status: 'in_progress' }),
      failed: validateResponse({
        ...response,
        status: 'failed',
        error: { code: 'context_length_exceeded', message: 'too long' },
      }),
      delta: validateStreamEvent(delta),
      item: validateStreamEvent({
        type: 'response.output_item.done',
        output_index: 0,
        item: message([text, { type: 'refusal', refusal: 'no' }]),
        sequence_number: 1,
      }),
      flatError: validateStreamEvent({
        type: 'error',
        code: 'server_error',
        message: 'x',
        param: null,
        sequence_number: 1,
      }),
      nestedError: validateStreamEvent({
        type: 'error',
        sequence_number: 1,
        error: { type: 'server_error', code: null, message: 'x', param: null },
      }),
      completion: validateChatCompletion(completion),
      chunk: validateChatChunk(chunk),
    }).toEqual({
      response: [],
      unfinished: [],
      failed: [],
      delta: [],
      item: [],
      flatError: [],
      nestedError: [],
      completion: [],
      chunk: [],
    });
  });

  it('reports what is wrong, and only that', () => {
    const { item_id: _, ...nameless } = delta;
    const { metadata: __, ...withoutMetadata } = response;
    expect({
      missing: validateStreamEvent(nameless),
      wrongType: validateStreamEvent({ ...delta, output_index: '0' }),
      inItem: validateStreamEvent({
        type: 'response.output_item.done',
        output_index: 0,
        item: message([{ type: 'output_text', text: 'hi', logprobs: [] }]),
        sequence_number: 1,
      }),
      inResponse: validateResponse({ ...response, status: 'done' }),
      noMetadata: validateResponse(withoutMetadata),
      usage: validateResponse({ ...response, usage: { ...response.usage, input_tokens: null } }),
      nestedError: validateStreamEvent({ type: 'error', sequence_number: 1, error: { message: 'x' } }),
      completion: validateChatCompletion({
        ...completion,
        choices: [{ ...completion.choices[0], finish_reason: 'done' }],
      }),
      chunk: validateChatChunk({ ...chunk, object: 'chunk' }),
    }).toEqual({
      missing: ["(root) must have required property 'item_id'"],
      wrongType: ['/output_index must be integer'],
      inItem: ["/item/content/0 must have required property 'annotations'"],
      inResponse: [
        '/status must be equal to one of the allowed values: ["completed","failed","in_progress","cancelled","queued","incomplete"]',
      ],
      noMetadata: ["(root) must have required property 'metadata'"],
      usage: ['/usage/input_tokens must be integer'],
      nestedError: [
        "/error must have required property 'type'",
        "/error must have required property 'code'",
        "/error must have required property 'param'",
      ],
      completion: [
        '/choices/0/finish_reason must be equal to one of the allowed values: ["stop","length","tool_calls","content_filter","function_call"]',
      ],
      chunk: ['/object must be equal to one of the allowed values: ["chat.completion.chunk"]'],
    });
  });

  it('rejects an event that OpenAI does not have', () => {
    const [complaint] = validateStreamEvent({ ...delta, type: 'response.output_text.delat' });
    expect(complaint).toMatch(
      /^\/type must be equal to one of the allowed values: \["response.audio.delta",/u,
    );
  });

  it('fails a test', () => {
    expect(() => expectMatchesSchema('Response', {})).toThrow(/complaints: \[ …\(14\) \]/u);
    expectMatchesSchema('Response', response);
  });

  it('compiles every schema of the document', () => {
    const named = schemaNames('openai-openapi.json');
    const broken = named.filter((name) => {
      try {
        openaiSchema?.validate(name, null);
        return false;
      } catch {
        return true;
      }
    });
    expect({ broken, many: named.length > 300 }).toEqual({ broken: [], many: true });
  });
});

describe.skipIf(openResponsesSchema === null)('the Open Responses document', NEEDS_DOCUMENTS, () => {
  it('accepts and rejects', () => {
    const { top_p: _, ...withoutTopP } = response;
    expect({
      response: validateOpenResponse(response),
      bad: validateOpenResponse(withoutTopP),
      delta: validateOpenResponseEvent(delta),
      badDelta: validateOpenResponseEvent({ ...delta, delta: 1 }),
      error: validateOpenResponseEvent({
        type: 'error',
        sequence_number: 1,
        error: { type: 'server_error', code: null, message: 'x', param: null },
      }),
    }).toEqual({
      response: [],
      bad: ["(root) must have required property 'top_p'"],
      delta: [],
      badDelta: ['/delta must be string'],
      error: [],
    });
  });
});

describe('without the documents', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });

  it('is an error in CI if their folder is named', async () => {
    vi.stubEnv('SHARED_DIR', '/nowhere');
    vi.stubEnv('CI', 'true');
    vi.resetModules();
    await expect(import('./schema.ts')).rejects.toThrow('the API document is missing: /nowhere/api');
  });
});

const schemaNames = (fileName: string): readonly string[] => {
  const shared = process.env['SHARED_DIR'] ?? new URL('../../../shared', import.meta.url).pathname;
  const document: { components: { schemas: Record<string, unknown> } } = JSON.parse(
    readFileSync(`${shared}/api/${fileName}`, 'utf8'),
  );
  return Object.keys(document.components.schemas);
};

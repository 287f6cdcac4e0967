import { describe, expect, it } from 'vitest';

import { EDIT_FIELDS, type EditField } from '../../capabilities/profile.ts';
import { refusedField } from './refused-field.ts';

const all = new Set(EDIT_FIELDS);
const of = (error: Record<string, unknown>, set: ReadonlySet<EditField> = all): EditField | null =>
  refusedField(JSON.stringify({ error }), set);

describe('a refused field', () => {
  it('is recognised in the messages of many backends', () => {
    expect(
      of({
        message: "Unsupported parameter: 'temperature' is not supported with this model.",
        param: 'temperature',
        code: 'unsupported_parameter',
      }),
    ).toBe('temperature');
    expect(
      of({
        message:
          "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        param: 'temperature',
        code: 'unsupported_value',
      }),
    ).toBe('temperature');
    expect(of({ message: "Unknown parameter: 'seed'.", param: 'seed', code: 'unknown_parameter' })).toBe(
      'seed',
    );
    expect(refusedField('{"detail":"Unsupported parameter: max_output_tokens"}', all)).toBe(
      'max_output_tokens',
    );
    expect(
      refusedField(
        '{"detail":[{"type":"extra_forbidden","loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]}',
        all,
      ),
    ).toBe('top_p');
    expect(of({ message: "property 'metadata' is unsupported" })).toBe('metadata');
    expect(of({ message: 'Unrecognized request argument supplied: user' })).toBe('user');
    expect(of({ message: 'This model does not support text.verbosity.' })).toBe('text.verbosity');
    expect(of({ message: 'Unsupported', param: 'include[1]' })).toBe('include');
    expect(of({ message: "Invalid value: 'input_file'. Supported values are: 'input_text'." })).toBe(
      'input_file',
    );
    expect(refusedField('unknown field top_logprobs', all)).toBe('top_logprobs');
    const place = 'input[0].content[1].prompt_cache_breakpoint';
    const unknown = { message: `Unknown parameter: '${place}'.`, code: 'unknown_parameter' };
    expect(of({ ...unknown, param: place })).toBe('prompt_cache_breakpoint');
    expect(of(unknown)).toBe('prompt_cache_breakpoint');
    expect(of({ message: 'Unsupported parameter', param: 'input[2].caller' })).toBe('call_fields');
    expect(of({ message: "Unknown parameter: 'input[2].async'." })).toBe('call_fields');
    expect(of({ message: "Unknown parameter: 'input[2].async'." }, new Set(['user']))).toBeNull();
  });

  it('is the tool choice, whatever is wrong with its value: it is enforced here then', () => {
    const choice = new Set<EditField>(['tool_choice', 'temperature']);
    const message = "Unsupported value: 'tool_choice' must be 'auto'.";
    expect(of({ message, param: 'tool_choice', code: 'unsupported_value' }, choice)).toBe('tool_choice');
    expect(of({ message: "Invalid tool_choice type: 'object'. Supported string values: none, auto." })).toBe(
      'tool_choice',
    );
    expect(of({ message, param: 'input', code: 'unsupported_value' }, choice)).toBeNull();
    expect(of({ message: "Tool choice 'x' not found in 'tools'.", param: 'tool_choice' })).toBeNull();
  });

  it("is null if a value is invalid: that is the client's error", () => {
    expect(
      of({
        message: "Invalid 'temperature': decimal above maximum value. Expected a value <= 2.",
        param: 'temperature',
        code: 'decimal_above_max_value',
      }),
    ).toBeNull();
    expect(
      of({
        message: "Invalid 'metadata': too many properties.",
        param: 'metadata',
        code: 'object_too_large',
      }),
    ).toBeNull();
    expect(of({ message: 'temperature must be between 0 and 1; 1.5 is not allowed' })).toBeNull();
    expect(of({ message: 'unsupported: must be lower', param: 'top_p' })).toBeNull();
    expect(of({ message: 'Something else.', param: 'temperature' })).toBeNull();
  });

  it('is null for other errors, and for fields that we did not set', () => {
    expect(of({ message: "Unknown parameter: 'tools[0].foo'.", param: 'tools[0].foo' })).toBeNull();
    expect(of({ message: 'Unsupported tools schema: pattern', param: null })).toBeNull();
    // OpenAI's own message about a tool that a model does not have.
    const hosted = "Hosted tool 'web_search_preview' is not supported with gpt-5-2025-08-07.";
    expect(of({ message: hosted, param: 'tools', code: null })).toBeNull();
    expect(of({ message: hosted })).toBeNull();
    expect(of({ message: 'Unsupported text.format', param: 'text.format' })).toBeNull();
    expect(of({ message: 'Unsupported parameter: temperature' }, new Set(['top_p']))).toBeNull();
    expect(of({ message: 'Unknown username or super_user' }, new Set(['user']))).toBeNull();
    expect(of({ message: "Unsupported parameter: 'x'", param: 'x' })).toBeNull();
    expect(refusedField('', all)).toBeNull();
  });
});

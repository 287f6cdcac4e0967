import { describe, expect, it } from 'vitest';

import { essenceOf, withoutSchemas } from './essence.ts';

const TOOL = { type: 'function', name: 'f', parameters: { type: 'object' } };
const TOOLS = { type: 'additional_tools', tools: [TOOL] };
const said = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] });

describe('the essence of a request', () => {
  it('is all of a small one that the demo model looks at', () => {
    const body = { tools: [TOOL], text: { format: { type: 'json_object' } }, input: [TOOLS, said('hi')] };
    expect(essenceOf({ ...body, model: 'demo', instructions: 'Be kind.', tool_choice: 'auto' })).toEqual({
      ...body,
      tool_choice: 'auto',
    });
  });

  it('is bounded for any other', () => {
    const items = [TOOLS, ...Array.from({ length: 1_000 }, (_, index) => said(String(index)))];
    const huge = { ...TOOL, description: 'x'.repeat(300_000) };
    const essence = essenceOf({ tools: [huge], input: [...items, said('x'.repeat(5_000))] });
    expect(essence).toEqual({ input: [TOOLS, ...items.slice(-199), said('x'.repeat(4_096))] });
  });

  it('has the newest message of the user in its own words, and none that only a client wrote', () => {
    const reminder = '<system-reminder>\nThe weather tool exists.\n</system-reminder>';
    const items = [
      said('Hello'),
      { type: 'function_call_output', call_id: 'c', output: `${reminder} 7` },
      said(reminder),
      { role: 'user', content: reminder },
    ];
    expect(essenceOf({ input: items })).toEqual({ input: items.slice(0, 2) });
    expect(essenceOf({ input: [said(`${reminder}\nHello`)] })).toEqual({ input: [said('Hello')] });
    expect(essenceOf({ input: `${reminder}\nHello` })).toEqual({ input: 'Hello' });
    // Markup that is longer than what is kept of a text.
    const long = `<a_b>${'x'.repeat(10_000)}</a_b>`;
    expect(essenceOf({ input: [said(`${long}Hello`)] })).toEqual({ input: [said('Hello')] });
    const image = { type: 'input_image', image_url: 'x' };
    expect(
      essenceOf({ input: [{ role: 'user', content: [{ type: 'input_text', text: reminder }, image] }] }),
    ).toEqual({
      input: [{ role: 'user', content: [image] }],
    });
  });

  it('can do without schemas', () => {
    expect(withoutSchemas(essenceOf({ tools: [TOOL], text: {}, input: [TOOLS, said('hi')] }))).toEqual({
      input: [said('hi')],
    });
  });
});

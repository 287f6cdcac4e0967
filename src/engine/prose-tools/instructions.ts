import { titleOf, type ToolChoice } from '../../canonical/request/tool.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import type { ProseTool } from './declared-tools.ts';
import type { Guidance, ToolGuide } from './tool-guide.ts';
import { writeCall } from './written-call.ts';

/** How to write a tool call. The wording is the one that models of this protocol know. */
const RULES = `Tool calling instructions:
Only emit tool calls using <tool_call>...</tool_call>.
Format: <tool_call>{"name":"TOOL_NAME","arguments":"{...}"}</tool_call>
Inside <tool_call>...</tool_call>, output ONLY a JSON object with keys "name" and "arguments".
Always emit <tool_call> blocks exactly as shown; the client executes them.
Do NOT call internal tools directly (shell, apply_patch, web_search, view_image); only emit <tool_call>.
Read-only sandbox or approval restrictions do NOT prevent emitting <tool_call> output.
Use EXACT parameter names from the schema; do NOT invent or rename keys.
Do not add any extra characters before or after the JSON (no trailing ">", no code fences).
Use exactly one opening <tool_call> and one closing </tool_call> tag.
Output must be valid JSON. Do not add extra braces or trailing characters.
Do NOT wrap the JSON object in an array (no leading "[" or trailing "]").
Bad: <tool_call>[{"name":"tool","arguments":"{...}"}]</tool_call>
Never repeat the closing tag.
Example (exact): <tool_call>{"name":"webSearch","arguments":"{\\"query\\":\\"example\\",\\"chatHistory\\":[]}"}</tool_call>
The "arguments" field must be a JSON string.
If a tool has no parameters, use arguments "{}".
If no tool is needed, respond with plain text.`;

/** The text before the conversation that replaces the tool declarations. */
export const proseInstructions = async (
  tools: readonly ProseTool[],
  choice: ToolChoice,
  { guide, caller, signal }: { guide: ToolGuide; caller: string; signal: AbortSignal },
): Promise<string> => {
  const schemas: string[] = [];
  for (const { parameters } of tools) {
    schemas.push((await runSliced(writeJsonSteps(parameters), signal)).join(''));
  }
  const guidance = await guide.guide(schemas, caller);
  const conditions = [...choiceLines(choice), ...strictLines(tools)];
  return [
    RULES,
    ...(conditions.length === 0 ? [] : [conditions.join('\n')]),
    ['Available tools (schema):', ...tools.map(({ title }, index) => `- ${title}: ${schemas[index]}`)].join(
      '\n',
    ),
    `Per-tool guidance and examples (schema-conformant):\n${tools
      .map((tool, index) => aboutTool(tool, guidance[index] ?? null))
      .join('\n\n')}`,
  ].join('\n\n');
};

const choiceLines = (choice: ToolChoice): readonly string[] => {
  if (choice.mode === 'none') return ['Tool choice is none: never emit <tool_call>.'];
  if (choice.mode === 'named' && choice.tool.kind !== 'hosted') {
    return [`Tool choice is forced: you MUST call "${titleOf(choice.tool)}".`];
  }
  const isRequired = choice.mode === 'required' || (choice.mode === 'allowed' && choice.required);
  return isRequired ? ['Tool choice is required: you MUST emit at least one <tool_call>.'] : [];
};

const strictLines = (tools: readonly ProseTool[]): readonly string[] => {
  const strict = tools.filter(({ isStrict }) => isStrict).map(({ title }) => title);
  return strict.length === 0
    ? []
    : [`Strict tools: ${strict.join(', ')}. Arguments MUST conform exactly to schema.`];
};

const aboutTool = ({ title, description }: ProseTool, guidance: Guidance | null): string =>
  [
    `Tool: ${title}`,
    ...(description === null || description === '' ? [] : [`Description: ${description}`]),
    ...(guidance === null ? [] : ['Parameters:', ...guidance.parameters]),
    ...(guidance?.example == null
      ? []
      : ['Example tool_call:', writeCall({ name: title, input: guidance.example })]),
  ].join('\n');

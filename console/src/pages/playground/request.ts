import type { Item } from './items.ts';

/** What a person chose on the page. Texts are as they were typed. */
export interface Settings {
  readonly model: string;
  /** Empty: the default of the model. */
  readonly effort: string;
  readonly instructions: string;
  /** JSON: a list of tools. Empty: none. */
  readonly tools: string;
  /** JSON: the schema of the answer. Empty: plain text. */
  readonly schema: string;
}

export type RequestBody = Readonly<Record<string, unknown>>;

export interface Problems {
  readonly model?: string;
  readonly tools?: string;
  readonly schema?: string;
}

interface Parsed {
  readonly value: unknown;
  readonly problem: string | null;
}

const parsed = (text: string, isRight: (value: unknown) => boolean, wanted: string): Parsed => {
  if (text.trim() === '') return { value: undefined, problem: null };
  try {
    const value: unknown = JSON.parse(text);
    return { value, problem: isRight(value) ? null : `This must be ${wanted}.` };
  } catch (error) {
    return { value: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
};

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toolsOf = ({ tools }: Settings): Parsed => parsed(tools, Array.isArray, 'a JSON array of tools');
const schemaOf = ({ schema }: Settings): Parsed => parsed(schema, isObject, 'a JSON object');

/** What has to be corrected before a request can be sent. */
export const problemsOf = (settings: Settings): Problems => {
  const [tools, schema] = [toolsOf(settings).problem, schemaOf(settings).problem];
  return {
    ...(settings.model.trim() === '' ? { model: 'Choose a model.' } : {}),
    ...(tools === null ? {} : { tools }),
    ...(schema === null ? {} : { schema }),
  };
};

/** The name of the answer's schema, which OpenAI's API requires. */
const SCHEMA_NAME = 'answer';

/**
 * The body that is sent, and that the code to copy has. Nothing is stored: every request has the whole conversation, with the
 * model's reasoning in a form that only the backend reads.
 */
export const requestBody = (settings: Settings, input: readonly Item[]): RequestBody => {
  const { model, effort, instructions } = settings;
  const tools = toolsOf(settings).value;
  const schema = schemaOf(settings).value;
  return {
    model: model.trim(),
    ...(instructions.trim() === '' ? {} : { instructions }),
    input,
    ...(tools === undefined ? {} : { tools }),
    ...(schema === undefined
      ? {}
      : { text: { format: { type: 'json_schema', name: SCHEMA_NAME, schema, strict: true } } }),
    reasoning: { ...(effort === '' ? {} : { effort }), summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: true,
  };
};

import { z } from 'zod';

import { parseBody, unreadFields } from '../../../apis/validation.ts';
import { GatewayError } from '../../../canonical/failure/failure.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { present } from '../../../kit/json/json.ts';
import { MCP_ERRORS, McpProtocolError } from './mcp-messages.ts';

/** One call of a tool, as the tool sees it. */
export interface ToolCallScope {
  readonly keyId: string;
  /** Of the HTTP request. */
  readonly exchange: Exchange;
  readonly headers: Headers;
  /** Aborted when the client cancels the call, or closes its connection. */
  readonly signal: AbortSignal;
  /** Shows the client what happens, if it asks for that. What a slow client does not read in time is left out. */
  progress(message: string): void;
  /** Asks the user for a yes. Null: the client cannot ask its user. */
  readonly ask: ((question: string, signal: AbortSignal) => Promise<boolean>) | null;
}

export interface DoorAnswer {
  readonly text: string;
  readonly structured: JsonObject;
}

export interface DoorTool {
  readonly name: string;
  /** Whether a key may use it; the others do not see it. */
  isFor(keyId: string): boolean;
  /** As `tools/list` shows it, without its name. */
  readonly listed: JsonObject;
  /** Rejects with a `ToolProblem` or a `GatewayError`, which become the result, or with an `McpProtocolError`. */
  call(args: JsonObject, scope: ToolCallScope): Promise<DoorAnswer>;
}

/** Why a tool could not do what it was asked, in words for the model that called it. */
export class ToolProblem extends Error {}

interface ToolParts<Schema extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: Schema;
  /** The argument without which the call is not one of this tool: an error of the protocol. */
  readonly needs: keyof z.output<Schema> & string;
  readonly outputSchema?: JsonObject;
  readonly isReadOnly: boolean;
  readonly isFor: (keyId: string) => boolean;
  readonly run: (args: z.output<Schema>, scope: ToolCallScope) => Promise<DoorAnswer>;
}

/** A tool whose arguments are checked. A member that is null counts as absent. */
export const doorTool = <Schema extends z.ZodObject>(parts: ToolParts<Schema>): DoorTool => {
  const { name, title, description, args: schema, needs, outputSchema, isReadOnly, isFor, run } = parts;
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema) as JsonObject;
  return {
    name,
    isFor,
    listed: {
      title,
      description,
      inputSchema,
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations: { title, readOnlyHint: isReadOnly, openWorldHint: true },
    },
    call(args, scope) {
      const given = present(args);
      const read = readArguments(schema, given, needs);
      const [unknown] = unreadFields(schema, given, '');
      if (unknown !== undefined) throw new ToolProblem(`Unknown argument: '${unknown}'.`);
      return run(read, scope);
    },
  };
};

const readArguments = <Schema extends z.ZodObject>(
  schema: Schema,
  given: JsonObject,
  needs: string,
): z.output<Schema> => {
  try {
    return parseBody(schema, given);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { param, message } = error.failure;
    const said = message.replace('Missing required parameter', 'Missing argument');
    if (param === needs) throw new McpProtocolError(MCP_ERRORS.invalidParams, said);
    throw new ToolProblem(said);
  }
};

import { gatewayError } from '../canonical/failure/failure.ts';
import { refKey, refsOf, type Tool, type ToolRef } from '../canonical/request/tool.ts';
import { quoted } from '../kit/text/display.ts';
import { schemaBudget, schemaProblem, type SchemaBudget } from './schema-problem.ts';

/**
 * Throws if a tool name is used twice or a schema is invalid. `placeOf` returns the location of a tool in the body,
 * `schemaField` is the API's name for the schema of a tool.
 */
export const checkTools = (
  tools: readonly Tool[],
  placeOf: (index: number) => string,
  schemaField: 'parameters' | 'input_schema' = 'parameters',
  budget: SchemaBudget = schemaBudget(),
): void => {
  const seen = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (tool.kind === 'hosted') continue;
    const { name } = tool;
    if (seen.has(name)) {
      const param = `${placeOf(index)}.name`;
      throw gatewayError('invalid_value', {
        param,
        message: `Invalid '${param}': duplicate tool name '${quoted(name)}'.`,
      });
    }
    seen.add(name);
    const wrong =
      tool.kind === 'function' && tool.parameters !== null ? schemaProblem(tool.parameters, budget) : null;
    if (wrong === null) continue;
    throw gatewayError('invalid_value', {
      param: `${placeOf(index)}.${schemaField}`,
      code: 'invalid_function_parameters',
      message: `Invalid schema for function '${quoted(name)}': ${wrong}`,
    });
  }
};

/** Throws if a tool choice names a tool that is not declared. */
export const checkDeclared = (
  refs: readonly ToolRef[],
  tools: readonly Tool[],
  paramOf: (index: number) => string,
  place: 'tools' | 'functions' = 'tools',
): void => {
  const declared = new Set(tools.flatMap(refsOf).map(refKey));
  const index = refs.findIndex((ref) => !declared.has(refKey(ref)));
  const ref = refs[index];
  if (ref === undefined) return;
  throw gatewayError('invalid_value', {
    param: paramOf(index),
    message: `Tool choice '${quoted(ref.kind === 'hosted' ? ref.raw.type : ref.name)}' not found in '${place}' parameter.`,
  });
};

import type { Failure } from '../../canonical/failure/failure.ts';
import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool } from '../../canonical/request/tool.ts';

/** Whether a backend rejects custom tools as such, and not the definition of one. */
export const isAboutCustomTools = (refusal: Failure, tools: readonly Tool[]): boolean => {
  const { status, param, message } = refusal;
  if (status !== 400 || /grammar|lark|regex|syntax|\bformat\b|duplicate/i.test(`${param ?? ''} ${message}`)) {
    return false;
  }
  const [, index] =
    /^(?:body\.)?tools(?:\[|\.)(\d+)\]?(?:\.(?:type|function|parameters)\b|$)/.exec(param ?? '') ?? [];
  if (index !== undefined && tools[Number(index)]?.kind === 'custom') return true;
  return (
    (/\bcustom(?:_tool_call)?(?:_output)?\b/i.test(message) && COMPLAINS.test(message)) ||
    ONLY_FUNCTIONS.test(message)
  );
};

const COMPLAINS =
  /un(?:supported|known|recogni[sz]ed|expected)|invalid|not (?:supported|allowed|valid|permitted|available|implemented)|(?:must|should) be|expected|(?:does not|doesn't|do not|cannot) (?:support|accept|match)/i;
const ONLY_FUNCTIONS =
  /\btools?\b.*(?:(?:must|should) be|only|expected)\W{0,8}(?:of type\W{0,3})?functions?\b|only\W{0,3}functions?\W{0,3}tools?\b/i;

/** Whether a backend rejects the namespaces of calls. */
export const isAboutNamespaces = ({ status, param, message }: Failure): boolean =>
  status === 400 &&
  /\bnamespace\b/.test(`${param ?? ''} ${message}`) &&
  // A rejection of a tool of that type is something else.
  !/^tools\b/.test(param ?? '') &&
  COMPLAINS.test(message);

/** Whether a conversation has tools that load late and whose form the client did not choose. */
export const hasLateTools = (items: readonly Item[]): boolean =>
  itemFacts(items).hasLoadedTools &&
  items.some((item) => item.kind === 'loaded-tools' && item.isOurs === true);

/** Whether a backend rejects tools in the middle of a conversation. */
export const isAboutLateTools = ({ status, param, message }: Failure): boolean =>
  status === 400 && /\badditional_tools\b/.test(`${param ?? ''} ${message}`);

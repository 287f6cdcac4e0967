import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import type { FuzzyFileSearchParams } from './generated/FuzzyFileSearchParams.ts';
import type { FuzzyFileSearchResponse } from './generated/FuzzyFileSearchResponse.ts';
import type { GetAuthStatusParams } from './generated/GetAuthStatusParams.ts';
import type { GetAuthStatusResponse } from './generated/GetAuthStatusResponse.ts';
import type { InitializeParams } from './generated/InitializeParams.ts';
import type { InitializeResponse } from './generated/InitializeResponse.ts';
import type { JsonValue } from './generated/serde_json/JsonValue.ts';
import { SERVER_NOTIFICATION_METHODS } from './generated/server-methods.ts';
import type { AccountLoginCompletedNotification } from './generated/v2/AccountLoginCompletedNotification.ts';
import type { AgentMessageDeltaNotification } from './generated/v2/AgentMessageDeltaNotification.ts';
import type { CommandExecutionOutputDeltaNotification } from './generated/v2/CommandExecutionOutputDeltaNotification.ts';
import type { CommandExecParams } from './generated/v2/CommandExecParams.ts';
import type { CommandExecResponse } from './generated/v2/CommandExecResponse.ts';
import type { ConfigReadParams } from './generated/v2/ConfigReadParams.ts';
import type { ErrorNotification } from './generated/v2/ErrorNotification.ts';
import type { FeedbackUploadParams } from './generated/v2/FeedbackUploadParams.ts';
import type { FeedbackUploadResponse } from './generated/v2/FeedbackUploadResponse.ts';
import type { GetAccountParams } from './generated/v2/GetAccountParams.ts';
import type { GetAccountRateLimitsParams } from './generated/v2/GetAccountRateLimitsParams.ts';
import type { GetAccountRateLimitsResponse } from './generated/v2/GetAccountRateLimitsResponse.ts';
import type { GetAccountResponse } from './generated/v2/GetAccountResponse.ts';
import type { GetAccountTokenUsageParams } from './generated/v2/GetAccountTokenUsageParams.ts';
import type { GetAccountTokenUsageResponse } from './generated/v2/GetAccountTokenUsageResponse.ts';
import type { ItemCompletedNotification } from './generated/v2/ItemCompletedNotification.ts';
import type { ItemStartedNotification } from './generated/v2/ItemStartedNotification.ts';
import type { LoginAccountParams } from './generated/v2/LoginAccountParams.ts';
import type { LoginAccountResponse } from './generated/v2/LoginAccountResponse.ts';
import type { LogoutAccountResponse } from './generated/v2/LogoutAccountResponse.ts';
import type { McpServerToolCallParams } from './generated/v2/McpServerToolCallParams.ts';
import type { McpServerToolCallResponse } from './generated/v2/McpServerToolCallResponse.ts';
import type { ListMcpServerStatusParams } from './generated/v2/ListMcpServerStatusParams.ts';
import type { ListMcpServerStatusResponse } from './generated/v2/ListMcpServerStatusResponse.ts';
import type { RawResponseCompletedNotification } from './generated/v2/RawResponseCompletedNotification.ts';
import type { RawResponseItemCompletedNotification } from './generated/v2/RawResponseItemCompletedNotification.ts';
import type { ReasoningSummaryPartAddedNotification } from './generated/v2/ReasoningSummaryPartAddedNotification.ts';
import type { ReasoningSummaryTextDeltaNotification } from './generated/v2/ReasoningSummaryTextDeltaNotification.ts';
import type { ReasoningTextDeltaNotification } from './generated/v2/ReasoningTextDeltaNotification.ts';
import type { ReviewStartParams } from './generated/v2/ReviewStartParams.ts';
import type { ReviewStartResponse } from './generated/v2/ReviewStartResponse.ts';
import type { ServerDiagnosticsParams } from './generated/v2/ServerDiagnosticsParams.ts';
import type { ServerDiagnosticsResponse } from './generated/v2/ServerDiagnosticsResponse.ts';
import type { ThreadBackgroundTerminalsCleanParams } from './generated/v2/ThreadBackgroundTerminalsCleanParams.ts';
import type { ThreadBackgroundTerminalsCleanResponse } from './generated/v2/ThreadBackgroundTerminalsCleanResponse.ts';
import type { ThreadBackgroundTerminalsListParams } from './generated/v2/ThreadBackgroundTerminalsListParams.ts';
import type { ThreadBackgroundTerminalsListResponse } from './generated/v2/ThreadBackgroundTerminalsListResponse.ts';
import type { ThreadInjectItemsParams } from './generated/v2/ThreadInjectItemsParams.ts';
import type { ThreadInjectItemsResponse } from './generated/v2/ThreadInjectItemsResponse.ts';
import type { ThreadStartParams } from './generated/v2/ThreadStartParams.ts';
import type { ThreadStartResponse } from './generated/v2/ThreadStartResponse.ts';
import type { ThreadTokenUsageUpdatedNotification } from './generated/v2/ThreadTokenUsageUpdatedNotification.ts';
import type { ThreadUnsubscribeParams } from './generated/v2/ThreadUnsubscribeParams.ts';
import type { ThreadUnsubscribeResponse } from './generated/v2/ThreadUnsubscribeResponse.ts';
import type { TurnCompletedNotification } from './generated/v2/TurnCompletedNotification.ts';
import type { TurnInterruptParams } from './generated/v2/TurnInterruptParams.ts';
import type { TurnInterruptResponse } from './generated/v2/TurnInterruptResponse.ts';
import type { TurnStartParams } from './generated/v2/TurnStartParams.ts';
import type { TurnStartResponse } from './generated/v2/TurnStartResponse.ts';
import type { TurnSteerParams } from './generated/v2/TurnSteerParams.ts';
import type { TurnSteerResponse } from './generated/v2/TurnSteerResponse.ts';

/**
 * A generated type as JSON represents it: large numbers are generated as `bigint`, and what we send may be
 * deeply readonly.
 */
type AsJson<T> = [JsonValue] extends [T]
  ? Json | Extract<T, undefined>
  : T extends bigint
    ? number
    : T extends readonly (infer Element)[]
      ? readonly AsJson<Element>[]
      : T extends object
        ? { readonly [Key in keyof T]: AsJson<T[Key]> }
        : T;

/**
 * The requests that we send. Results that carry a whole thread or turn are reduced to the fields that we
 * read: the rest is large, changes with every release, and every fake in a test would have to invent it.
 */
interface ClientMethods {
  readonly initialize: { params: InitializeParams; result: InitializeResponse };
  readonly 'thread/start': {
    params: ThreadStartParams;
    result: { readonly thread: Pick<ThreadStartResponse['thread'], 'id'> };
  };
  readonly 'thread/inject_items': { params: ThreadInjectItemsParams; result: ThreadInjectItemsResponse };
  readonly 'turn/start': {
    params: TurnStartParams;
    result: { readonly turn: Pick<TurnStartResponse['turn'], 'id'> };
  };
  readonly 'review/start': {
    params: ReviewStartParams;
    result: { readonly turn: Pick<ReviewStartResponse['turn'], 'id'> };
  };
  readonly 'turn/steer': { params: TurnSteerParams; result: TurnSteerResponse };
  readonly 'turn/interrupt': { params: TurnInterruptParams; result: TurnInterruptResponse };
  readonly 'thread/unsubscribe': { params: ThreadUnsubscribeParams; result: ThreadUnsubscribeResponse };
  /** Ends the commands that a thread has left running. */
  readonly 'thread/backgroundTerminals/clean': {
    params: ThreadBackgroundTerminalsCleanParams;
    result: ThreadBackgroundTerminalsCleanResponse;
  };
  readonly 'thread/backgroundTerminals/list': {
    params: ThreadBackgroundTerminalsListParams;
    result: {
      readonly data: readonly Pick<ThreadBackgroundTerminalsListResponse['data'][number], 'processId'>[];
    };
  };
  /** Runs a command without a thread. */
  readonly 'command/exec': { params: CommandExecParams; result: CommandExecResponse };
  readonly fuzzyFileSearch: { params: FuzzyFileSearchParams; result: FuzzyFileSearchResponse };
  readonly 'mcpServerStatus/list': {
    params: ListMcpServerStatusParams;
    result: {
      readonly data: readonly Pick<
        ListMcpServerStatusResponse['data'][number],
        'name' | 'runtimeStatus' | 'tools' | 'toolsError'
      >[];
    };
  };
  readonly 'mcpServer/tool/call': { params: McpServerToolCallParams; result: McpServerToolCallResponse };
  readonly 'account/read': { params: GetAccountParams; result: Pick<GetAccountResponse, 'account'> };
  readonly getAuthStatus: {
    params: GetAuthStatusParams;
    result: Pick<GetAuthStatusResponse, 'authMethod'>;
  };
  readonly 'account/rateLimits/read': {
    params: GetAccountRateLimitsParams;
    result: AsJson<
      Pick<
        GetAccountRateLimitsResponse,
        'ordinaryUsageAllowed' | 'rateLimits' | 'rateLimitsByLimitId' | 'rateLimitResetCredits'
      >
    >;
  };
  readonly 'account/usage/read': {
    params: GetAccountTokenUsageParams;
    result: AsJson<Pick<GetAccountTokenUsageResponse, 'summary' | 'dailyUsageBuckets'>>;
  };
  readonly 'account/login/start': { params: LoginAccountParams; result: LoginAccountResponse };
  readonly 'account/logout': { params: undefined; result: LogoutAccountResponse };
  /** Hundreds of fields that change with every release: readers check whether a field exists. */
  readonly 'config/read': { params: ConfigReadParams; result: { readonly config: JsonObject } };
  readonly 'feedback/upload': { params: FeedbackUploadParams; result: FeedbackUploadResponse };
  readonly 'server/diagnostics': { params: ServerDiagnosticsParams; result: ServerDiagnosticsResponse };
}

export type ClientMethod = keyof ClientMethods;
export type ParamsOf<M extends ClientMethod> = AsJson<ClientMethods[M]['params']>;
export type ResultOf<M extends ClientMethod> = ClientMethods[M]['result'];

/** The notifications that we read. A finished turn is reduced like the results above. */
interface KnownNotifications {
  readonly error: ErrorNotification;
  readonly 'turn/completed': {
    readonly threadId: string;
    readonly turn: Pick<TurnCompletedNotification['turn'], 'id' | 'status' | 'error'>;
  };
  readonly 'item/started': ItemStartedNotification;
  readonly 'item/completed': ItemCompletedNotification;
  readonly 'item/agentMessage/delta': AgentMessageDeltaNotification;
  readonly 'item/commandExecution/outputDelta': CommandExecutionOutputDeltaNotification;
  readonly 'item/reasoning/summaryPartAdded': ReasoningSummaryPartAddedNotification;
  readonly 'item/reasoning/summaryTextDelta': ReasoningSummaryTextDeltaNotification;
  readonly 'item/reasoning/textDelta': ReasoningTextDeltaNotification;
  readonly 'rawResponseItem/completed': RawResponseItemCompletedNotification;
  readonly 'rawResponse/completed': RawResponseCompletedNotification;
  readonly 'thread/tokenUsage/updated': ThreadTokenUsageUpdatedNotification;
}

/** Sent at the end of a sign-in. It is about no thread, and read only by a client that signs in. */
export const LOGIN_COMPLETED = 'account/login/completed';

/** How a sign-in ended. */
export type CompletedLogin = Pick<AccountLoginCompletedNotification, 'loginId' | 'success' | 'error'>;

export type KnownNotificationMethod = keyof KnownNotifications;

export type KnownNotification = {
  readonly [M in KnownNotificationMethod]: { readonly method: M; readonly params: KnownNotifications[M] };
}[KnownNotificationMethod];

/** A call of an MCP tool that the app-server has run. */
export type McpToolCall = Extract<ItemCompletedNotification['item'], { type: 'mcpToolCall' }>;

/** Null if another kind of item is completed. */
export const mcpToolCall = ({ item }: ItemCompletedNotification): McpToolCall | null =>
  item.type === 'mcpToolCall' ? item : null;

/**
 * What each notification reports: the turn's progress, model output (which the relay sees itself), or the
 * result of a tool.
 */
const KNOWN: Readonly<Record<KnownNotificationMethod, 'lifecycle' | 'content' | 'tools'>> = {
  error: 'lifecycle',
  'turn/completed': 'lifecycle',
  'item/started': 'content',
  'item/completed': 'tools',
  'item/agentMessage/delta': 'content',
  'item/commandExecution/outputDelta': 'content',
  'item/reasoning/summaryPartAdded': 'content',
  'item/reasoning/summaryTextDelta': 'content',
  'item/reasoning/textDelta': 'content',
  'rawResponseItem/completed': 'content',
  'rawResponse/completed': 'content',
  'thread/tokenUsage/updated': 'content',
};

/**
 * Checks the method only. The params are trusted to have the generated type: the binary is pinned, and
 * validating each delta would cost more than the delta.
 */
export const isKnownNotification = (notification: {
  readonly method: string;
  readonly params: unknown;
}): notification is KnownNotification => Object.hasOwn(KNOWN, notification.method);

export const KNOWN_NOTIFICATIONS: readonly string[] = Object.keys(KNOWN);

export const notificationsAbout = (what: 'content' | 'tools'): readonly string[] =>
  Object.entries(KNOWN)
    .filter(([, about]) => about === what)
    .map(([method]) => method);

/** What codex tells its user: about its configuration, or about a thread. */
export const WARNING_NOTIFICATIONS: readonly string[] = ['configWarning', 'deprecationNotice', 'warning'];

/** The text of a warning; null if the notification is another one. Read with care: another release may send it. */
export const warningText = (method: string, params: unknown): string | null => {
  if (!WARNING_NOTIFICATIONS.includes(method)) return null;
  const { message, summary, details } = isJsonObject(params) ? params : {};
  const texts = [message, summary, details].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  return texts.length === 0 ? method : texts.join(' ');
};

/** Notifications that we do not read. We opt out of them, which saves work on both sides. */
export const IGNORED_NOTIFICATIONS: readonly string[] = SERVER_NOTIFICATION_METHODS.filter(
  (method) => !Object.hasOwn(KNOWN, method) && !WARNING_NOTIFICATIONS.includes(method),
);

const IGNORED: ReadonlySet<string> = new Set(IGNORED_NOTIFICATIONS);

export const isIgnoredNotification = (method: string): boolean => IGNORED.has(method);

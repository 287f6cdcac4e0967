/**
 * The app-server protocol types in use, as paths in the output of `codex app-server generate-ts --experimental`.
 * `scripts/protocol.ts` vendors them with their dependencies. Add a root here, then run `npm run protocol:update`.
 */
export const PROTOCOL_ROOTS = [
  // Requests and their results.
  'InitializeParams',
  'InitializeResponse',
  'v2/ThreadStartParams',
  'v2/ThreadStartResponse',
  'v2/ThreadInjectItemsParams',
  'v2/ThreadInjectItemsResponse',
  'v2/TurnStartParams',
  'v2/TurnStartResponse',
  'v2/TurnInterruptParams',
  'v2/TurnInterruptResponse',
  'v2/TurnSteerParams',
  'v2/TurnSteerResponse',
  'v2/ThreadUnsubscribeParams',
  'v2/ThreadUnsubscribeResponse',
  'v2/ListMcpServerStatusParams',
  'v2/ListMcpServerStatusResponse',
  'v2/ServerDiagnosticsParams',
  'v2/ServerDiagnosticsResponse',
  'v2/McpServerToolCallParams',
  'v2/McpServerToolCallResponse',
  'GetAuthStatusParams',
  'GetAuthStatusResponse',
  'v2/GetAccountParams',
  'v2/GetAccountResponse',
  'v2/GetAccountRateLimitsParams',
  'v2/GetAccountRateLimitsResponse',
  'v2/GetAccountTokenUsageParams',
  'v2/GetAccountTokenUsageResponse',
  'v2/LoginAccountParams',
  'v2/LoginAccountResponse',
  'v2/LogoutAccountResponse',
  'v2/ConfigReadParams',
  'v2/FeedbackUploadParams',
  'v2/FeedbackUploadResponse',
  'v2/ReviewStartParams',
  'v2/ReviewStartResponse',
  // Notifications.
  'v2/ErrorNotification',
  'v2/TurnCompletedNotification',
  'v2/ItemStartedNotification',
  'v2/ItemCompletedNotification',
  'v2/AgentMessageDeltaNotification',
  'v2/ReasoningSummaryPartAddedNotification',
  'v2/ReasoningSummaryTextDeltaNotification',
  'v2/ReasoningTextDeltaNotification',
  'v2/RawResponseItemCompletedNotification',
  'v2/RawResponseCompletedNotification',
  'v2/ThreadTokenUsageUpdatedNotification',
  'v2/AccountLoginCompletedNotification',
  'v2/CommandExecutionOutputDeltaNotification',
  // Requests of the server.
  'v2/CommandExecutionRequestApprovalParams',
] as const;

/** The unions of all notifications and requests of the server. */
export const SERVER_UNIONS = { notifications: 'ServerNotification', requests: 'ServerRequest' } as const;

// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

/**
 * A presentation instruction for Chat to apply to this answer when recovering history.
 */
export type AgentMessageDisplay = {
/**
 * Unknown actions must be left for the producing client to handle.
 */
action: string, blockType: string | null, cyberTrustedAccess: boolean | null, checkTrustedContacts: boolean | null, };

/** Whether an id is that of a message of the Messages API. Messages are stored like responses, but have no response object. */
export const isMessageId = (id: string): boolean => id.startsWith('msg_');

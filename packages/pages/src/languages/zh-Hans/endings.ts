import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': '正在处理您的答复',
  'working.text': '只需几秒钟，您无需再次作答。',
  'working.reload': '查看进展',

  'declined.heading': '您已拒绝',
  'declined.text': '没有与 {mcpServer} 共享任何内容。',

  'expired.heading': '此请求已失效',
  'expired.text': '此请求只在限定时间内有效。如果仍有需要，请返回您刚才使用的应用重新发起。',

  'cancelled.heading': '此请求已撤回',
  'cancelled.text': '{mcpServer} 不再需要您的答复。您可以关闭此窗口。',

  'failed.heading': '此请求未能完成',
  'failed.text': '处理过程中遇到了问题。请返回您刚才使用的应用重新发起。',

  'notFound.heading': '这里没有内容',
  'notFound.text': '链接可能不完整，或已失效。请返回提供链接的应用，重新获取一个。',

  'error.badRequest.heading': '无法打开此页面',
  'error.badRequest.text': '地址不完整或已损坏。请在您的应用中重新打开链接。',
  'error.forbidden.heading': '此操作已停止',
  'error.forbidden.text': '我们无法确认操作来自您本人。请在您的应用中重新打开链接，并使用页面上的按钮。',
  'error.tooManyRequests.heading': '尝试次数过多',
  'error.tooManyRequests.text': '请等待一分钟，然后在您的应用中重新打开链接。',
  'error.unavailable.heading': '服务暂时不可用',
  'error.unavailable.text': '请等待几分钟，然后在您的应用中重新打开链接。',
  'error.internal.heading': '出了点问题',
  'error.internal.text': '问题出在我们这边，与您无关。请在您的应用中重新打开链接。',
  'error.requestId': '寻求帮助时，请提供此编号',
};

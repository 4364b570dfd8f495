import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': '请先登录',
  'signIn.text': '您使用的某个应用需要您的答复。请登录，以确保只有您本人能看到。',
  'signIn.connections': '登录后，您可以查看已连接的账户，也可以断开连接。',
  'signIn.continue': '前往登录',
  'signIn.choose': '请选择您在此处使用应用时所用的账户。',
  'signIn.with': '使用 {name} 登录',

  'signInFailed.heading': '登录未成功',
  'signInFailed.text': '登录服务没有响应，或拒绝了此次登录。请稍等片刻再试。',
  'signInFailed.retry': '重试',

  'signInAgain.title': '重新登录',
  'signInAgain.heading': '请在 {app} 中重新登录',
  'signInAgain.text': '此步骤需要您最近登录过。请在 {app} 中重新登录，从那里打开一个链接，并在五分钟内返回此页面。',

  'signedOut.heading': '您已退出登录',
  'signedOut.text': '您可以关闭此窗口。',
  'signedOut.elsewhere': '您可能仍在 {host} 上处于登录状态。',
  'signedOut.there': '同时在那里退出登录',

  'wrongPerson.heading': '此请求属于另一个账户',
  'wrongPerson.text': '如果您还有其他账户，请用它登录。如果链接是别人发给您的，请关闭此窗口。没有共享任何内容。',
  'wrongPerson.switchAccount': '换一个账户',

  'wrongBrowser.heading': '此操作是在另一个浏览器中发起的',
  'wrongBrowser.text': '为了保护您，操作已在此停止。没有连接任何账户。',
  'wrongBrowser.next': '如果是您本人发起的，请返回您的应用重新开始。如果链接是别人发给您的，请关闭此窗口。',

  'noRequest.heading': '找不到与此回应对应的请求',
  'noRequest.text':
    '将您带回此处的服务没有说明其回应属于哪个请求，或者该请求已结束。没有连接任何账户，也没有拒绝任何请求。',
  'noRequest.next': '请重新打开该请求，以继续或拒绝。',
  'noRequest.nextInApp': '请返回您的应用，重新打开链接。',
  'noRequest.open': '打开请求',
};

import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': '正在處理您的答覆',
  'working.text': '只需幾秒鐘，您不必再次答覆。',
  'working.reload': '查看進度',

  'declined.heading': '您已拒絕',
  'declined.text': '沒有與 {mcpServer} 分享任何內容。',

  'expired.heading': '這項要求已失效',
  'expired.text': '這項要求只在限定時間內有效。如果仍有需要，請返回您剛才使用的應用程式重新發起。',

  'cancelled.heading': '這項要求已撤回',
  'cancelled.text': '{mcpServer} 不再需要您的答覆。您可以關閉這個視窗。',

  'failed.heading': '這項要求未能完成',
  'failed.text': '處理過程中發生問題。請返回您剛才使用的應用程式重新發起。',

  'notFound.heading': '這裡沒有內容',
  'notFound.text': '連結可能不完整，或已失效。請返回提供連結的應用程式，重新取得一個。',

  'error.badRequest.heading': '無法開啟這個頁面',
  'error.badRequest.text': '網址不完整或已損壞。請在您的應用程式中重新開啟連結。',
  'error.forbidden.heading': '這個步驟已停止',
  'error.forbidden.text': '我們無法確認操作來自您本人。請在您的應用程式中重新開啟連結，並使用頁面上的按鈕。',
  'error.tooManyRequests.heading': '短時間內嘗試次數過多',
  'error.tooManyRequests.text': '請等待一分鐘，再從您的應用程式重新開啟連結。',
  'error.unavailable.heading': '服務暫時無法使用',
  'error.unavailable.text': '請等待幾分鐘，再從您的應用程式重新開啟連結。',
  'error.internal.heading': '發生錯誤',
  'error.internal.text': '問題出在我們這邊。請在您的應用程式中重新開啟連結。',
  'error.requestId': '尋求協助時，請提供這個編號',
};

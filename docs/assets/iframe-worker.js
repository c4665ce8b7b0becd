// Search from a folder. A browser starts no worker from a file:// page, so its script runs in a hidden
// frame of the page instead, and messages go straight from one to the other.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      this.send = new Promise((ready) => {
        script.onload = () =>
          ready((data) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
      });
      inside.document.body.appendChild(script);
    }
    postMessage(data) {
      this.send.then((send) => send(data));
    }
    terminate() {}
  };
}

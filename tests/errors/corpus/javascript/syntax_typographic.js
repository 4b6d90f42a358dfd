console.log(“hi”);
